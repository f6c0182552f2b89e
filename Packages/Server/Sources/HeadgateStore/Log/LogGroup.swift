import HeadgateCore
import HeadgateData

/// What a frame says of the events that it holds, so that nobody need look into each of them.
struct LogStretch: Equatable {
    var first: SequenceNumber
    var last: SequenceNumber
    /// How much it holds of each route.
    var tallies: RouteTallies
    var ages: GroupAges

    /// Events and bytes of all routes.
    var tally: Tally { tallies.total }

    /// Takes in a stretch that lies behind.
    mutating func add(_ next: LogStretch) {
        first = min(first, next.first)
        last = max(last, next.last)
        tallies += next.tallies
        ages.add(next.ages)
    }
}

extension LogWriter {
    mutating func put(_ stretch: LogStretch) {
        put(48) { room in
            LittleEndian.store(stretch.first, in: room, at: 0)
            LittleEndian.store(stretch.last, in: room, at: 8)
            LittleEndian.store(stretch.ages.firstReceipt, in: room, at: 16)
            LittleEndian.store(stretch.ages.lastReceipt, in: room, at: 24)
            LittleEndian.store(stretch.ages.firstExpiry, in: room, at: 32)
            LittleEndian.store(stretch.ages.lastExpiry, in: room, at: 40)
        }
        put(UInt32(TallyBlob.size(of: stretch.tallies.count)))
        put(stretch.tallies)
    }
}

extension LogReader {
    mutating func takeStretch() throws(Unsound) -> LogStretch {
        let (first, last) = (try takeSequenceNumber(), try takeSequenceNumber())
        let ages = GroupAges(
            firstReceipt: try take(), lastReceipt: try take(), firstExpiry: try take(), lastExpiry: try take())
        guard first <= last, let tallies = TallyBlob.decode(try takePiece()) else { throw Unsound() }
        return LogStretch(
            first: first, last: last, tallies: tallies, ages: ages)
    }
}

/// A committed group as it lies in a frame: what it says of its events, what came with them, and their records.
enum LogGroup {
    /// - Parameter leastPacked: a piece of so many bytes is packed.
    static func write(_ group: AppendGroup, packedFrom leastPacked: Int, to writer: inout LogWriter) {
        let extras = group.hasExtras ? LogExtras(group).bytes : LogExtras.nothing
        write(group.chunk.bytes, stretch(of: group), extras, packedFrom: leastPacked, to: &writer)
    }

    /// - Parameter extras: what came with the events: nothing where they are copied.
    static func write(
        _ records: [UInt8], _ stretch: LogStretch, _ extras: [UInt8] = LogExtras.nothing,
        packedFrom leastPacked: Int, to writer: inout LogWriter
    ) {
        writer.put(stretch)
        // Other events say much the same as an event: one alone is left as it is, however large.
        let leastPacked = stretch.first == stretch.last ? .max : leastPacked
        writer.put(extras, packedFrom: leastPacked)
        writer.put(records, packedFrom: leastPacked)
    }

    static func stretch(of group: AppendGroup) -> LogStretch {
        LogStretch(
            first: group.chunk.firstSequenceNumber, last: group.chunk.lastSequenceNumber, tallies: group.tallies,
            ages: group.ages)
    }

    /// What a frame of a group holds, where it lies.
    struct Pieces {
        var stretch: LogStretch
        var extras: LogPiece
        var records: LogPiece

        /// - Parameter kind: the frame's kind; nil is returned if it holds no events.
        init?(_ bytes: UnsafeRawBufferPointer, _ kind: LogFrame.Kind) throws(LogReader.Unsound) {
            guard kind == .group else { return nil }
            var reader = LogReader(bytes)
            stretch = try reader.takeStretch()
            extras = try reader.takePackedPiece()
            records = try reader.takePackedPiece()
        }

        /// The events; nil where they are not sound.
        var chunk: Chunk? {
            var bytes: [UInt8] = []
            return records.append(to: &bytes) ? Chunk(bytes: bytes, lastSequenceNumber: stretch.last) : nil
        }
    }
}

/// What comes with the events of a group.
struct LogExtras {
    var newRoutes: [RouteNumber: [DispatcherNumber]] = [:]
    var initialState = InitialState()
    var recentIDs: RecentIDs?
    var forgottenIDs: SequenceNumber = 0
    var requeued: [LetterNumber] = []

    /// Nothing.
    init() {}

    /// As it lies in a frame.
    var bytes: [UInt8] { isEmpty ? LogExtras.nothing : laid }

    /// Most groups bring nothing along: that is laid once.
    static let nothing = LogExtras().laid

    var isEmpty: Bool {
        newRoutes.isEmpty && initialState.isEmpty && recentIDs == nil && forgottenIDs == 0 && requeued.isEmpty
    }

    private var laid: [UInt8] {
        var writer = LogWriter()
        writer.put(self)
        return writer.bytes
    }

    init(_ group: AppendGroup) {
        (newRoutes, initialState, recentIDs) = (group.newRoutes, group.initialState, group.recentIDs)
        (forgottenIDs, requeued) = (group.forgottenIDs, group.requeued)
    }

    init(_ reader: inout LogReader) throws(LogReader.Unsound) {
        newRoutes = try reader.takeRoutes()
        initialState.dispatchers = try reader.takeAll { (reader) throws(LogReader.Unsound) in
            try reader.takeDispatcher()
        }
        initialState.kept = try reader.takeKept()
        recentIDs = try reader.takeAll { (reader) throws(LogReader.Unsound) in try reader.takeIDs() }.first
        forgottenIDs = try reader.takeSequenceNumber()
        requeued = try reader.takeNumbers()
    }
}

extension AppendGroup {
    /// Whether anything comes with its events: mostly nothing does.
    var hasExtras: Bool {
        !newRoutes.isEmpty || !initialState.isEmpty || recentIDs != nil || forgottenIDs != 0 || !requeued.isEmpty
    }
}

extension LogWriter {
    mutating func put(_ extras: LogExtras) {
        put(extras.newRoutes)
        put(all: extras.initialState.dispatchers) { $0.put($1) }
        put(extras.initialState.kept)
        put(all: extras.recentIDs.map { [$0] } ?? []) { $0.put($1) }
        put(extras.forgottenIDs)
        put(all: extras.requeued) { $0.put($1) }
    }

    mutating func put(_ routes: [RouteNumber: [DispatcherNumber]]) {
        put(all: routes.sorted { $0.key < $1.key }) { writer, route in
            writer.put(route.key)
            writer.put(all: route.value) { $0.put($1) }
        }
    }

    mutating func put(_ kept: [String: [UInt8]]) {
        put(all: kept.sorted { $0.key < $1.key }) { writer, pair in
            writer.put(pair.key)
            writer.put(pair.value)
        }
    }

    mutating func put(_ dispatcher: StoredDispatcher) {
        put(dispatcher.number)
        put(dispatcher.id)
        put(dispatcher.settled)
        put(optional: dispatcher.orphanedSince)
    }

    mutating func put(_ settled: Settled) {
        put(settled.position)
        put(RangeBlob.encode(settled))
    }

    mutating func put(_ ids: RecentIDs) {
        put(ids.lastSequenceNumber)
        put(ids.receivedStamp)
        put(UInt32(clamping: ids.count))
        put(UInt8(ids.form.rawValue))
        put(ids.bytes)
    }
}

extension LogReader {
    mutating func takeRoutes() throws(Unsound) -> [RouteNumber: [DispatcherNumber]] {
        let routes = try takeAll { (reader) throws(Unsound) in
            let number = try reader.take(RouteNumber.self)
            return (number, try reader.takeNumbers() as [DispatcherNumber])
        }
        return Dictionary(routes) { $1 }
    }

    mutating func takeKept() throws(Unsound) -> [String: [UInt8]] {
        let kept = try takeAll { (reader) throws(Unsound) in
            let name = try reader.takeText()
            return (name, try reader.takeBytes())
        }
        return Dictionary(kept) { $1 }
    }

    mutating func takeDispatcher() throws(Unsound) -> StoredDispatcher {
        StoredDispatcher(
            number: try take(), id: try takeText(), settled: try takeSettled(), orphanedSince: try takeOptional())
    }

    mutating func takeSettled() throws(Unsound) -> Settled {
        let position = try takeSequenceNumber()
        return RangeBlob.decode(try takePiece(), behind: position, through: LogFormat.mostEvents)
    }

    mutating func takeIDs() throws(Unsound) -> RecentIDs {
        let (last, stamp) = (try takeSequenceNumber(), try take(Int64.self))
        let (count, form) = (Int(try take(UInt32.self)), RecentIDs.Form(rawValue: Int64(try take(UInt8.self))))
        guard let form else { throw Unsound() }
        return RecentIDs(
            lastSequenceNumber: last, receivedStamp: stamp, count: count, form: form, bytes: try takeBytes())
    }
}
