/// How much is stored and unsettled, for each dispatcher and in all.
///
/// Each dispatcher settles a route's events in order, so what is left of a route is what its slowest dispatcher has
/// left. Two numbers a route and dispatcher therefore count the store, whatever the number of events.
///
/// What is left of one dispatcher is exact. ``live`` is exact while dispatchers have one batch in flight; with more, one
/// may have settled what another has not and the other way round, and it is low by no more than what they have in hand.
public struct Backlog {
    private var unsettled: [RouteNumber: DispatcherTable<Tally>] = [:]
    private var unsettledOfDispatcher = DispatcherTable<Tally>()
    /// Events that some dispatcher has not settled (Behaviour Q4 limits these).
    public private(set) var live = Tally.zero

    public init() {}

    /// What a dispatcher has not settled.
    public func unsettled(of dispatcher: DispatcherNumber) -> Tally {
        unsettledOfDispatcher[dispatcher] ?? .zero
    }

    /// The routes of events that some dispatcher has not settled.
    var routes: some Sequence<RouteNumber> { unsettled.keys }

    /// Events came for dispatchers of a route.
    mutating func add(_ tally: Tally, route: RouteNumber, dispatchers: [DispatcherNumber]) {
        for dispatcher in dispatchers { unsettledOfDispatcher[dispatcher, default: .zero] += tally }
        change(route) { tallies in
            for dispatcher in dispatchers { tallies[dispatcher, default: .zero] += tally }
        }
    }

    /// A dispatcher has settled events of a route. What is not counted, since it was given up, changes nothing.
    mutating func settle(_ tally: Tally, route: RouteNumber, dispatcher: DispatcherNumber) {
        guard unsettled[route]?[dispatcher] != nil else { return }
        unsettledOfDispatcher[dispatcher, default: .zero] -= tally
        change(route) { $0[dispatcher, default: .zero] -= tally }
    }

    /// Counts a dispatcher anew: these events are all that it has left.
    mutating func keep(_ entries: [QueueEntry], of dispatcher: DispatcherNumber) {
        remove(dispatcher)
        for entry in entries { add(entry.tally, route: entry.event.route, dispatchers: [dispatcher]) }
    }

    /// Forgets a dispatcher and all that it has not settled.
    mutating func remove(_ dispatcher: DispatcherNumber) {
        for (route, tallies) in unsettled {
            guard let tally = tallies[dispatcher] else { continue }
            settle(tally, route: route, dispatcher: dispatcher)
            unsettled[route]?[dispatcher] = nil
        }
        unsettledOfDispatcher[dispatcher] = nil
    }

    /// Changes what is left of a route, and with it what is live. A route of which nothing is left is forgotten.
    private mutating func change(_ route: RouteNumber, _ body: (inout DispatcherTable<Tally>) -> Void) {
        let (before, after) = { tallies in
            let before = Backlog.live(tallies)
            body(&tallies)
            return (before, Backlog.live(tallies))
        }(&unsettled[route, default: DispatcherTable()])
        live += after - before
        if after == .zero { unsettled[route] = nil }
    }

    private static func live(_ tallies: DispatcherTable<Tally>) -> Tally {
        tallies.values.reduce(.zero) {
            Tally(events: max($0.events, $1.events), bytes: max($0.bytes, $1.bytes))
        }
    }
}
