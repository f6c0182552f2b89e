import HeadgateCore

/// Counts the unsettled events of each dispatcher from the indexes, from the newest group back. When the count reaches
/// a dispatcher's position, the sums so far are the dispatcher's. It takes one pass, whatever the number of dispatchers
/// (Behaviour Q6).
struct BacklogCount {
    /// Counts the events of a group with some sequence numbers.
    typealias Counting<Fault: Error> = ((SequenceNumber) -> Bool) throws(Fault) -> RouteTallies

    private let routes: [RouteNumber: [DispatcherNumber]]
    /// The dispatchers whose positions the count has not reached, the highest position last.
    private var waiting: [StoredDispatcher]
    private var totals = RouteTallies()
    /// The dispatchers with settled ranges after their position, and the events so far in these ranges.
    private let gapped: [StoredDispatcher]
    private var settledBehind: [DispatcherNumber: RouteTallies] = [:]
    private(set) var unsettled: [DispatcherNumber: RouteTallies] = [:]

    init(dispatchers: [StoredDispatcher], routes: [RouteNumber: [DispatcherNumber]]) {
        self.routes = routes
        waiting = dispatchers.sorted { $0.position < $1.position }
        gapped = dispatchers.filter { !$0.settled.ranges.isEmpty }
    }

    /// True if older groups make no difference.
    var isComplete: Bool { waiting.isEmpty }

    /// Adds the next older group.
    /// - Parameter counting: returns the group's number of some events.
    mutating func add<Fault>(_ group: LogSpan, counting: Counting<Fault>) throws(Fault) {
        try addSettled(group, counting)
        while let dispatcher = waiting.last, dispatcher.position >= group.first {
            waiting.removeLast()
            let isInside = dispatcher.position < group.last
            note(dispatcher.number, with: isInside ? try counting { $0 > dispatcher.position } : [:])
        }
        totals += group.tallies
    }

    /// Ends the count: there is no older group.
    mutating func finish() {
        for dispatcher in waiting { note(dispatcher.number, with: [:]) }
        waiting = []
    }

    /// Adds the settled events of a group. A group within a settled range need not be read. The others are few: each
    /// has an event that a dispatcher had buffered, or is at the end of what the dispatcher had read.
    private mutating func addSettled<Fault>(_ group: LogSpan, _ counting: Counting<Fault>) throws(Fault) {
        for dispatcher in gapped {
            let settled = dispatcher.settled
            let part: RouteTallies
            switch settled.overlap(with: group.first...max(group.first, group.last)) {
            case .none: continue
            case .whole: part = group.tallies
            case .part: part = try counting { $0 > settled.position && settled.contains($0) }
            }
            settledBehind[dispatcher.number, default: [:]] += part
        }
    }

    private mutating func note(_ dispatcher: DispatcherNumber, with rest: RouteTallies) {
        let settled = settledBehind[dispatcher] ?? [:]
        unsettled[dispatcher] = (totals + rest).filter { routes[$0]?.contains(dispatcher) == true } - settled
    }
}

extension BacklogCount {
    /// Counts the unsettled events of dispatchers from the indexes of segments. Few blocks are read.
    /// - Parameters:
    ///   - segments: the segments in the order of their events.
    ///   - erased: events that do not count, although they may still be in the segments.
    static func unsettled(
        of dispatchers: [StoredDispatcher], _ routes: [RouteNumber: [DispatcherNumber]], in segments: [LogSegment],
        without erased: NumberSet = []
    ) throws(DiskFault) -> [DispatcherNumber: RouteTallies] {
        var count = BacklogCount(dispatchers: dispatchers, routes: routes)
        for segment in segments.reversed() where !count.isComplete {
            for block in segment.index.blocks.reversed() {
                var group = block.span
                group.tallies = group.tallies - (try segment.tallies(of: block, erased))
                try count.add(group) { (includes) throws(DiskFault) in
                    try segment.tallies(of: block) { includes($0) && !erased.contains($0) }
                }
            }
        }
        count.finish()
        return count.unsettled
    }
}

extension LogSegment {
    /// Counts the erased events of a block. A block without any is not read.
    fileprivate func tallies(of block: LogBlock, _ erased: NumberSet) throws(DiskFault) -> RouteTallies {
        guard erased.mayOverlap(block.span.first...max(block.span.first, block.span.last)) else { return [:] }
        return try tallies(of: block) { erased.contains($0) }
    }

    /// Counts the events of a block with some sequence numbers.
    fileprivate func tallies(of block: LogBlock, _ includes: (SequenceNumber) -> Bool) throws(DiskFault) -> RouteTallies
    {
        var tallies = RouteTallies()
        try visitGroups(block) { group in
            guard let events = group.chunk else { return }
            for event in events where includes(event.sequenceNumber) { tallies.add(event) }
        }
        return tallies
    }
}
