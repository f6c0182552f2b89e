/// Counts stored and unsettled events, per dispatcher and in total.
///
/// Each dispatcher settles the events of a route in order, so the rest of a route is the rest of its slowest
/// dispatcher. Two numbers per route and dispatcher are therefore enough, for any number of events.
///
/// The counts per dispatcher are exact. ``live`` is exact while each dispatcher has one batch in flight. With more
/// batches in flight, two dispatchers may have settled different events of a route, and ``live`` is too low by at most
/// the events in their buffers.
public struct Backlog {
    private var unsettled: [RouteNumber: DispatcherTable<Tally>] = [:]
    private var unsettledOfDispatcher = DispatcherTable<Tally>()
    /// Events that at least one dispatcher has not settled. The store's limits apply to them (Behaviour Q4).
    public private(set) var live = Tally.zero

    public init() {}

    /// Returns the number and size of a dispatcher's unsettled events.
    public func unsettled(of dispatcher: DispatcherNumber) -> Tally {
        unsettledOfDispatcher[dispatcher] ?? .zero
    }

    /// The routes with unsettled events.
    var routes: some Sequence<RouteNumber> { unsettled.keys }

    /// Counts new events of a route.
    mutating func add(_ tally: Tally, route: RouteNumber, dispatchers: [DispatcherNumber]) {
        for dispatcher in dispatchers { unsettledOfDispatcher[dispatcher, default: .zero] += tally }
        change(route) { tallies in
            for dispatcher in dispatchers { tallies[dispatcher, default: .zero] += tally }
        }
    }

    /// Counts events of a route as settled by a dispatcher. Does nothing for a dispatcher whose queue was removed.
    mutating func settle(_ tally: Tally, route: RouteNumber, dispatcher: DispatcherNumber) {
        guard unsettled[route]?[dispatcher] != nil else { return }
        unsettledOfDispatcher[dispatcher, default: .zero] -= tally
        change(route) { $0[dispatcher, default: .zero] -= tally }
    }

    /// Replaces the counts of a dispatcher: `entries` are all its unsettled events.
    mutating func keep(_ entries: [QueueEntry], of dispatcher: DispatcherNumber) {
        remove(dispatcher)
        for entry in entries { add(entry.tally, route: entry.event.route, dispatchers: [dispatcher]) }
    }

    /// Removes a dispatcher with its unsettled events.
    mutating func remove(_ dispatcher: DispatcherNumber) {
        for (route, tallies) in unsettled {
            guard let tally = tallies[dispatcher] else { continue }
            settle(tally, route: route, dispatcher: dispatcher)
            unsettled[route]?[dispatcher] = nil
        }
        unsettledOfDispatcher[dispatcher] = nil
    }

    /// Changes the counts of a route and updates ``live``. A route without unsettled events is removed.
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
