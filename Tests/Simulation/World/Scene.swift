import HeadgateCore
import HeadgateData

@testable import HeadgateServer
@testable import HeadgateStore

/// The initial state of a history: random settings, with limits small enough to be reached.
struct Scene {
    /// The maximum pending output of a client before it counts as a slow reader, in bytes.
    static let mostOutput = 4_000
    /// The maximum number of unanswered requests of one client.
    static let mostUnanswered = 6
    /// The maximum number of connections.
    static let mostConnections = 5

    let durability: Durability
    /// The size of a log's segments in bytes, small enough for a history to have many. Some segments become larger.
    let segmentSize: Int
    private(set) var settings: DataObject = [:]
    /// The maximum age of events in milliseconds, or nil if it exceeds the history.
    let mostAge: Int64?
    /// True if an operator changes settings, including a third dispatcher.
    let changesSettings: Bool
    /// The limits of the dispatchers.
    let terms: [String: SimulatedDestination.Terms]
    let workTerms: WorkerWitness.Terms
    let boardTerms: BoardTerms
    /// The limits of a dispatcher that publishes into a stream, if there is one.
    let streamTerms: SimulatedDestination.Terms?
    let patience: Patience
    /// The initial rules and transformations, or nil if there are never any.
    let rules: Rulebook?
    /// The retention of a removed dispatcher's queue in milliseconds, or nil if it exceeds the history.
    let orphanRetention: Int64?
    /// The kind of damage to stored data, if there is any.
    let corrupt: Corruption.Kind?
    /// The size of a small disk, or nil if it is unlimited.
    let diskRoom: DiskRoom?
    /// True if syncs are slow.
    let hasSlowSyncs: Bool
    /// True if there is a configuration file besides the programmatic settings.
    let hasFile: Bool
    /// True if there are programs with the Swift client.
    let hasPrograms: Bool
    /// The activation barrier of a dispatcher, if there is one.
    let key: KeyTerms?
    /// The bounds of event groups, at times so small that clients wait for room.
    let groups: GroupBounds

    init(_ record: Record) {
        let first = SimulatedDestination.Terms(record)
        let second = SimulatedDestination.Terms(dispatchLimit: 1, inFlight: 1)
        changesSettings = record.oneIn(2)
        corrupt = record.oneIn(4) ? record.pick(Corruption.Kind.allCases + [.frames]) : nil
        hasFile = changesSettings && record.oneIn(2)
        terms = ["a": first, "b": second, "c": second].merging(hasFile ? ["d": second] : [:]) { $1 }
        let retention = changesSettings && record.oneIn(2) ? record.pick([0, 1, 5, 30]) : nil
        orphanRetention = retention.map { Int64($0) * 1_000 }
        workTerms = WorkerWitness.Terms(dispatchLimit: record.number(1...4), inFlight: record.number(1...4))
        boardTerms = BoardTerms(record)
        patience = Patience(record)
        rules = record.oneIn(3) ? Rulebook(record) : nil
        key = record.oneIn(3) ? KeyTerms(record) : nil
        durability = record.oneIn(4) ? .normal : .full
        let isSmall = corrupt == nil && record.oneIn(4)
        diskRoom = isSmall ? DiskRoom(record) : nil
        segmentSize = diskRoom?.segmentSize ?? record.pick([1, 1, 3, 6]) << 10
        hasSlowSyncs = record.oneIn(5)
        hasPrograms = record.oneIn(3)
        // A client that waits for room in a group also waits for the disk, as do its later requests.
        groups = !hasSlowSyncs && record.oneIn(3) ? .small(record) : GroupBounds()
        let mostAge = record.oneIn(3) ? record.pick([2, 5, 60]) : nil
        self.mostAge = mostAge.map { Int64($0) * 1_000 }
        settings = [
            "durability": .string(durability.rawValue), "shutdown_timeout_ms": 1_000,
            "limits": [
                "max_line_bytes": 4_096, "max_unanswered": .number(DataNumber(Scene.mostUnanswered)),
                "max_output_bytes": .number(DataNumber(Scene.mostOutput)),
                "max_connections": .number(DataNumber(Scene.mostConnections)),
                "slow_reader_timeout_ms": 2_000,
            ],
            "store": Scene.store(record, mostAge: mostAge, retention: retention),
        ]
        if diskRoom != nil { settings = settings.patched(with: DiskRoom.settings) }
        streamTerms = record.oneIn(3) ? SimulatedDestination.Terms(record) : nil
        let stream = streamTerms.map {
            Scene.limits($0).patched(with: Patience.default.settings).patched(with: ["kind": "stream"])
        }
        let streams: DataObject = stream.map { ["dispatchers": ["s": .object($0)]] } ?? [:]
        let workers: DataObject = ["dispatchers": ["w": .object(Scene.dispatcher(workTerms))]]
        let dispatchers: DataObject = ["a": .object(entry(of: "a", first)), "b": .object(entry(of: "b", second))]
        settings = settings.patched(with: ["dispatchers": .object(dispatchers)]).patched(with: workers)
            .patched(with: streams).patched(with: boardTerms.settings)
            .patched(with: Scene.barriers(record)).patched(with: rules?.settings ?? [:])
            .patched(with: key == nil ? [:] : KeyTerms.settings)
            .patched(with: hasSlowSyncs ? SlowSyncs.settings : [:])
            .patched(with: hasPrograms ? PersistentCalls.settings : [:])
    }

    /// Returns settings that, at times, block dispatches while no client is in the foreground (Behaviour B26).
    private static func barriers(_ record: Record) -> DataObject {
        guard record.oneIn(3) else { return [:] }
        let barrier: DataObject = [
            "barrier_id": "ApplicationStatusBarrier", "scopes": ["a"], "configuration": ["block_in_background": true],
        ]
        return ["barriers": ["ApplicationStatusBarrier": .object(barrier)]]
    }

    /// True if the queue of a removed dispatcher may be dropped to make room.
    var makesRoom: Bool { settings.get(key: "store", as: DataObject.self)?["overflow"] != nil }

    /// Returns the settings of a dispatcher.
    func entry(of id: String, _ terms: SimulatedDestination.Terms) -> DataObject {
        var entry = Scene.limits(terms).patched(with: patience.settings)
        if rules != nil { entry = entry.patched(with: Rulebook.reference(of: id)) }
        if let key, key.queue == id { entry = entry.patched(with: key.entry) }
        return entry.patched(with: ["kind": "far", "remote": .bool(id == "b")])
    }

    static func limits(_ terms: SimulatedDestination.Terms) -> DataObject {
        [
            "dispatch_limit": .number(DataNumber(terms.dispatchLimit)),
            "in_flight": .number(DataNumber(terms.inFlight)),
        ]
    }

    private static func dispatcher(_ terms: WorkerWitness.Terms) -> DataObject {
        let limits = SimulatedDestination.Terms(dispatchLimit: terms.dispatchLimit, inFlight: terms.inFlight)
        return Scene.limits(limits).patched(with: Patience.ofWorkers.settings).patched(
            with: ["kind": "worked", "lease_ms": .number(DataNumber(Int(terms.lease.wholeMilliseconds)))])
    }

    /// Returns the store's settings. Ages are in seconds.
    private static func store(_ record: Record, mostAge: Int?, retention: Int?) -> DataItem {
        var store: DataObject = ["max_events": .number(DataNumber(record.pick([12, 50, 200])))]
        if record.oneIn(3) { store["overflow"] = "drop_oldest" }
        if let retention { store["orphan_retention_s"] = .number(DataNumber(retention)) }
        if let mostAge { store["max_age_s"] = .number(DataNumber(mostAge)) }
        return .object(store)
    }
}

extension GroupBounds {
    fileprivate static func small(_ record: Record) -> GroupBounds {
        var bounds = GroupBounds()
        bounds.veryMuch = record.pick([500, 1_000, 2_000])
        (bounds.much, bounds.mostCommitting) = (bounds.veryMuch / 2, bounds.veryMuch * record.number(1...3))
        return bounds
    }
}
