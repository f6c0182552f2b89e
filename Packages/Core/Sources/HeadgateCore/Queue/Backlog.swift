/// The counts of stored and unsettled events, per dispatcher and in total.
///
/// Each dispatcher settles the events of a route in order, so the rest of a route is the rest of its slowest
/// dispatcher. Two numbers per route and dispatcher are therefore enough, for any number of events.
///
/// The counts per dispatcher are exact. ``live`` is exact while each dispatcher has one batch in flight. With more
/// batches in flight, two dispatchers may have settled different events of a route. ``live`` is then too low by at
/// most the events in their buffers.
public struct Backlog {
    private var unsettled: [RouteNumber: DispatcherTable<Tally>] = [:]
    private var unsettledOfDispatcher = DispatcherTable<Tally>()
    /// Events that rewinds made pending again. They are settled before the others, and do not count against the store's
    /// limits: no client sent them, and they were there already (Behaviour R2).
    private var replayed: [DispatcherNumber: RouteTallies] = [:]
    /// Events that at least one dispatcher has not settled. The store's limits apply to them (Behaviour Q4).
    public private(set) var live = Tally.zero

    public init() {}

    /// Returns the number and size of a dispatcher's unsettled events.
    public func unsettled(of dispatcher: DispatcherNumber) -> Tally {
        unsettledOfDispatcher[dispatcher] ?? .zero
    }

    /// The routes with unsettled events.
    var routes: Set<RouteNumber> {
        Set(unsettled.keys).union(replayed.values.flatMap { tallies in tallies.map(\.route) })
    }

    /// Counts new events of a route.
    mutating func add(_ tally: Tally, route: RouteNumber, dispatchers: [DispatcherNumber]) {
        for dispatcher in dispatchers { unsettledOfDispatcher[dispatcher, default: .zero] += tally }
        change(route) { tallies in
            for dispatcher in dispatchers { tallies[dispatcher, default: .zero] += tally }
        }
    }

    /// Counts events of a route as settled by a dispatcher. Does nothing for a dispatcher whose queue was removed.
    mutating func settle(_ tally: Tally, route: RouteNumber, dispatcher: DispatcherNumber) {
        var tally = tally
        if !replayed.isEmpty { tally -= settleReplayed(tally, route: route, dispatcher: dispatcher) }
        guard tally != .zero, unsettled[route]?[dispatcher] != nil else { return }
        unsettledOfDispatcher[dispatcher, default: .zero] -= tally
        change(route) { $0[dispatcher, default: .zero] -= tally }
    }

    /// Counts events as settled that a rewind had made pending again.
    /// - Returns: the part of the events that was counted.
    private mutating func settleReplayed(
        _ tally: Tally, route: RouteNumber, dispatcher: DispatcherNumber
    ) -> Tally {
        guard let left = replayed[dispatcher]?[route] else { return .zero }
        let isLast = tally.events >= left.events
        let part = isLast ? left : tally
        replayed[dispatcher]?.remove(part, route: route)
        if replayed[dispatcher]?.isEmpty != false { replayed[dispatcher] = nil }
        unsettledOfDispatcher[dispatcher, default: .zero] -= part
        return part
    }

    /// Replaces the counts of a dispatcher after a rewind.
    /// - Parameters:
    ///   - tallies: all its unsettled events, by route.
    ///   - dispatcher: the dispatcher.
    mutating func rewind(_ tallies: RouteTallies, of dispatcher: DispatcherNumber) {
        var fresh = RouteTallies()
        for (route, table) in unsettled {
            if let tally = table[dispatcher], tally != .zero { fresh.add(tally, route: route) }
        }
        let again = tallies - fresh
        if !again.isEmpty { replayed[dispatcher] = again }
        unsettledOfDispatcher[dispatcher] = fresh.total + again.total
    }

    /// Counts events of a dispatcher as replayed, as far as no other dispatcher needs them. A start does so in the
    /// middle of a replay, because it does not know which of them a rewind has made pending again.
    /// - Parameter most: the most events that may be left of the replay.
    mutating func markReplayed(by dispatcher: DispatcherNumber, most: Int) {
        var again = RouteTallies()
        var left = most
        for (route, table) in unsettled.sorted(by: { $0.key < $1.key }) {
            guard let own = table[dispatcher] else { continue }
            let others = table.largest(except: dispatcher)
            guard own.events > others.events, left > 0 else { continue }
            var part = own - others
            if part.events > left { part = Tally(events: left, bytes: part.bytes / part.events * left) }
            left -= part.events
            again.add(part, route: route)
        }
        for (route, tally) in again {
            change(route) { $0[dispatcher, default: .zero] -= tally }
        }
        if !again.isEmpty { replayed[dispatcher] = again }
    }

    /// Replaces the counts of a dispatcher: `entries` are all its unsettled events.
    mutating func keep(_ entries: [QueueEntry], of dispatcher: DispatcherNumber) {
        remove(dispatcher)
        for entry in entries { add(entry.tally, route: entry.event.route, dispatchers: [dispatcher]) }
    }

    /// Removes a dispatcher with its unsettled events.
    mutating func remove(_ dispatcher: DispatcherNumber) {
        replayed[dispatcher] = nil
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
