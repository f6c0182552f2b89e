import HeadgateData

/// The groups that the store is committing, the oldest first (Behaviour Q5).
///
/// Each group depends on the one before it (``AppendGroup/behind``), since it may contain duplicates of that group's
/// events. If a group cannot be stored, the groups committing after it fail as well.
struct PendingCommits {
    private var groups: [PendingCommit] = []
    /// The number and size of all events in the groups. It is kept up to date because every new event reads it.
    private(set) var tally = Tally.zero
    /// The size of the groups' records in bytes.
    private var byteCount = 0

    /// The most groups in the store at one time. A slow store thus gets fewer and larger groups.
    private static let most = 64

    var isEmpty: Bool { groups.isEmpty }

    /// The newest event that is being committed; nil if there is none or if its group is going to fail.
    var newest: SequenceNumber? {
        groups.last.flatMap { $0.fault == nil ? $0.group.chunk.lastSequenceNumber : nil }
    }

    /// The events being committed, by route. A route may occur several times.
    var tallies: some Sequence<(route: RouteNumber, tally: Tally)> { groups.lazy.map(\.group.tallies).joined() }

    /// Returns true if the store may be given `bytes` more.
    /// - Parameter most: the limit of bytes in the store. A single group may exceed it.
    func hasRoom(for bytes: Int, most: Int) -> Bool {
        groups.isEmpty || (groups.count < PendingCommits.most && byteCount + bytes <= most)
    }

    mutating func add(_ group: PendingCommit) {
        groups.append(group)
        tally += group.tally
        byteCount += group.group.chunk.bytes.count
    }

    /// Adds waiters to the newest group: they are notified after all groups are committed.
    mutating func add(_ waiters: [StoreWaiter]) {
        groups.last?.waiters += waiters
    }

    /// Removes and returns the oldest group, which the store has answered; nil if there is none.
    mutating func takeOldest() -> PendingCommit? {
        guard !groups.isEmpty else { return nil }
        let group = groups.takeFirst()
        tally -= group.tally
        byteCount -= group.group.chunk.bytes.count
        return group
    }

    /// Marks all groups as failing, because the group before them could not be stored.
    /// - Returns: their new routes, which do not reach the store.
    mutating func markFailed(_ fault: StoreFault) -> [RouteNumber: [DispatcherNumber]] {
        for group in groups { group.fault = fault }
        return groups.reduce(into: [:]) { $0.merge($1.group.newRoutes) { $1 } }
    }
}

/// A group that the store is committing.
final class PendingCommit {
    let group: AppendGroup
    /// Waiters that are notified when the group is committed.
    fileprivate(set) var waiters: [StoreWaiter]
    /// The arrival times of clients' events.
    let arrivals: ArrivalTimes
    /// The entries for the event trace.
    let traced: TraceGroup
    /// The number and size of the group's events.
    let tally: Tally
    /// The fault of an earlier group, because of which this group fails; nil if there was none.
    fileprivate(set) var fault: StoreFault?

    init(group: AppendGroup, waiters: [StoreWaiter], arrivals: ArrivalTimes, traced: TraceGroup) {
        self.group = group
        self.waiters = waiters
        self.arrivals = arrivals
        self.traced = traced
        tally = group.tallies.total
    }
}
