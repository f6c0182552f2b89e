import HeadgateData

/// The groups that the store is committing, the oldest first (Behaviour Q5).
///
/// Each goes on from the one before it (``AppendGroup/behind``), since it may hold repeats of what that one holds: where a group
/// cannot be stored, those that are on their way behind it cannot be either.
struct CommittingGroups {
    private var groups: [CommittingGroup] = []
    /// All that is in them, counted once: every event that comes meanwhile asks for it.
    private(set) var tally = Tally.zero
    /// Bytes of their records.
    private var byteCount = 0

    /// Most groups that are on their way: a store that takes its time gets fewer and larger ones.
    private static let most = 64

    var isEmpty: Bool { groups.isEmpty }

    /// The newest event that is on its way and may get there; nil where there is none.
    var newest: SequenceNumber? {
        groups.last.flatMap { $0.doom == nil ? $0.group.chunk.lastSequenceNumber : nil }
    }

    /// Events on their way, by route; a route may come several times.
    var tallies: some Sequence<(route: RouteNumber, tally: Tally)> { groups.lazy.map(\.group.tallies).joined() }

    /// Whether the store may be given so many bytes more.
    /// - Parameter most: bytes that may be on their way, unless it is one group that has more.
    func hasRoom(for bytes: Int, most: Int) -> Bool {
        groups.isEmpty || (groups.count < CommittingGroups.most && byteCount + bytes <= most)
    }

    mutating func add(_ group: CommittingGroup) {
        groups.append(group)
        tally += group.tally
        byteCount += group.group.chunk.bytes.count
    }

    /// Those who wait for all that is on its way.
    mutating func add(_ waiters: [StoreWaiter]) {
        groups.last?.waiters += waiters
    }

    /// Takes out the one that the store has answered; nil where none is on its way.
    mutating func takeOldest() -> CommittingGroup? {
        guard !groups.isEmpty else { return nil }
        let group = groups.takeFirst()
        tally -= group.tally
        byteCount -= group.group.chunk.bytes.count
        return group
    }

    /// The one before these could not be stored, and none of them will be.
    /// - Returns: the routes that go to the store with none of them.
    mutating func doom(_ fault: StoreFault) -> [RouteNumber: [DispatcherNumber]] {
        for group in groups { group.doom = fault }
        return groups.reduce(into: [:]) { $0.merge($1.group.newRoutes) { $1 } }
    }
}

/// A group that the store is committing.
final class CommittingGroup {
    let group: AppendGroup
    /// Who wants to know when it is committed.
    fileprivate(set) var waiters: [StoreWaiter]
    /// When clients' events came.
    let arrivals: Arrivals
    /// What is to be remembered of the events.
    let traced: TraceGroup
    /// All that is in it.
    let tally: Tally
    /// Why one before it could not be stored; nil where all were.
    fileprivate(set) var doom: StoreFault?

    init(group: AppendGroup, waiters: [StoreWaiter], arrivals: Arrivals, traced: TraceGroup) {
        self.group = group
        self.waiters = waiters
        self.arrivals = arrivals
        self.traced = traced
        tally = group.tallies.total
    }
}
