import HeadgateCore

/// Counts what each dispatcher has not settled from what the groups say they hold, from the newest back: once past a
/// dispatcher's position, the sums so far are its own. One pass, whatever the number of dispatchers (Behaviour Q6).
struct BacklogCount {
    private let routes: [RouteNumber: [DispatcherNumber]]
    /// Those whose position is not reached, the highest last.
    private var waiting: [StoredDispatcher]
    private var totals: [RouteNumber: Tally] = [:]
    private(set) var unsettled: [DispatcherNumber: [RouteNumber: Tally]] = [:]

    init(dispatchers: [StoredDispatcher], routes: [RouteNumber: [DispatcherNumber]]) {
        self.routes = routes
        waiting = dispatchers.sorted { $0.position < $1.position }
    }

    /// Whether older groups make no difference.
    var isComplete: Bool { waiting.isEmpty }

    /// Takes in the next older group.
    /// - Parameter behind: what the group holds behind a position inside it.
    mutating func add(
        _ group: GroupSummary, behind: (SequenceNumber) throws(SQLiteError) -> [RouteNumber: Tally]
    ) throws(SQLiteError) {
        while let dispatcher = waiting.last, dispatcher.position >= group.first {
            waiting.removeLast()
            let isInside = dispatcher.position < group.last
            note(dispatcher.number, with: isInside ? try behind(dispatcher.position) : [:])
        }
        totals.merge(group.tallies, uniquingKeysWith: +)
    }

    /// There is no older group.
    mutating func finish() {
        for dispatcher in waiting { note(dispatcher.number, with: [:]) }
        waiting = []
    }

    private mutating func note(_ dispatcher: DispatcherNumber, with rest: [RouteNumber: Tally]) {
        unsettled[dispatcher] = totals.merging(rest, uniquingKeysWith: +).filter { route, _ in
            routes[route]?.contains(dispatcher) == true
        }
    }
}

/// What the index tells of a committed group.
struct GroupSummary {
    var first: SequenceNumber
    var last: SequenceNumber
    var tallies: [RouteNumber: Tally]
}
