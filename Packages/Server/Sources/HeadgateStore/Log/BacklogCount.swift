import HeadgateCore

/// Counts what each dispatcher has not settled from what the groups say they hold, from the newest back: once past a
/// dispatcher's position, the sums so far are its own. One pass, whatever the number of dispatchers (Behaviour Q6).
struct BacklogCount {
    private let routes: [RouteNumber: [DispatcherNumber]]
    /// Those whose position is not reached, the highest last.
    private var waiting: [StoredDispatcher]
    private var totals = RouteTallies()
    /// Those that have settled ranges behind their position, and what the groups so far hold in these.
    private let gapped: [StoredDispatcher]
    private var settledBehind: [DispatcherNumber: RouteTallies] = [:]
    private(set) var unsettled: [DispatcherNumber: RouteTallies] = [:]

    init(dispatchers: [StoredDispatcher], routes: [RouteNumber: [DispatcherNumber]]) {
        self.routes = routes
        waiting = dispatchers.sorted { $0.position < $1.position }
        gapped = dispatchers.filter { !$0.settled.ranges.isEmpty }
    }

    /// Whether older groups make no difference.
    var isComplete: Bool { waiting.isEmpty }

    /// Takes in the next older group.
    /// - Parameter counting: what the group holds of some events.
    mutating func add<Fault>(_ group: GroupSummary, counting: GroupCounting<Fault>) throws(Fault) {
        try addSettled(group, counting)
        while let dispatcher = waiting.last, dispatcher.position >= group.first {
            waiting.removeLast()
            let isInside = dispatcher.position < group.last
            note(dispatcher.number, with: isInside ? try counting { $0 > dispatcher.position } : [:])
        }
        totals += group.tallies
    }

    /// There is no older group.
    mutating func finish() {
        for dispatcher in waiting { note(dispatcher.number, with: [:]) }
        waiting = []
    }

    /// A group that lies within a settled range needs not be looked into. The others are few: each holds an event that a
    /// dispatcher had in hand, or stands at the end of what it had read.
    private mutating func addSettled<Fault>(_ group: GroupSummary, _ counting: GroupCounting<Fault>) throws(Fault) {
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
    /// Counts the unsettled events of dispatchers by what the blocks of segments say that they hold; few of them are read.
    /// - Parameter segments: the segments in the order of their events.
    static func unsettled(
        of dispatchers: [StoredDispatcher], _ routes: [RouteNumber: [DispatcherNumber]], in segments: [LogSegment]
    ) throws(DiskFault) -> [DispatcherNumber: RouteTallies] {
        var count = BacklogCount(dispatchers: dispatchers, routes: routes)
        for segment in segments.reversed() where !count.isComplete {
            for block in segment.index.blocks.reversed() {
                let group = GroupSummary(
                    first: block.stretch.first, last: block.stretch.last, tallies: block.stretch.tallies)
                try count.add(group) { (isAsked) throws(DiskFault) in try segment.tallies(of: block, isAsked) }
            }
        }
        count.finish()
        return count.unsettled
    }
}

extension LogSegment {
    /// Counts the events of a block whose sequence numbers are as asked.
    fileprivate func tallies(of block: LogBlock, _ isAsked: (SequenceNumber) -> Bool) throws(DiskFault) -> RouteTallies
    {
        var tallies = RouteTallies()
        try visitGroups(block) { group in
            guard let events = group.chunk else { return }
            for event in events where isAsked(event.sequenceNumber) { tallies.add(event) }
        }
        return tallies
    }
}

/// Counts the events of a committed group whose sequence numbers are as asked.
typealias GroupCounting<Fault: Error> = ((SequenceNumber) -> Bool) throws(Fault) -> RouteTallies

/// The part of a group or block that the index tells.
struct GroupSummary {
    var first: SequenceNumber
    var last: SequenceNumber
    var tallies: RouteTallies
}
