/// The counts of events and bytes by route. Nearly all events have the same route as the event before, so the newest
/// route is counted in place, and only the others need a dictionary. A route without events is not contained.
public struct RouteTallies: Sendable {
    private var newest: (route: RouteNumber, tally: Tally) = (RouteTable.noDispatcher, .zero)
    /// The routes except the newest. Nil rather than an empty dictionary, which would cost as much to copy as a full
    /// one.
    private var others: [RouteNumber: Tally]?

    /// Creates an empty value.
    public init() {}

    /// Counts some events.
    public init(_ events: some Sequence<StoredEvent>) {
        for event in events { add(event) }
    }

    /// The number of routes.
    public var count: Int { (others?.count ?? 0) + (newest.tally == .zero ? 0 : 1) }

    /// True if there are no events.
    public var isEmpty: Bool { newest.tally == .zero && others == nil }

    /// The sum of all routes.
    public var total: Tally { others?.values.reduce(newest.tally, +) ?? newest.tally }

    /// The tally of a route; nil if it has no events.
    public subscript(route: RouteNumber) -> Tally? {
        if route == newest.route { return newest.tally == .zero ? nil : newest.tally }
        return others?[route]
    }

    /// Adds to the tally of a route.
    @inline(__always)
    public mutating func add(_ tally: Tally, route: RouteNumber) {
        if newest.route != route { turn(to: route) }
        newest.tally += tally
    }

    /// Adds an event.
    public mutating func add(_ event: StoredEvent) { add(event.tally, route: event.route) }

    /// Subtracts from the tally of a route.
    public mutating func remove(_ tally: Tally, route: RouteNumber) {
        if newest.route != route { turn(to: route) }
        newest.tally -= tally
    }

    /// Makes a route the newest.
    private mutating func turn(to route: RouteNumber) {
        var table = others ?? [:]
        others = nil
        if newest.tally != .zero { table[newest.route] = newest.tally }
        newest = (route, table.removeValue(forKey: route) ?? .zero)
        if !table.isEmpty { others = table }
    }

    /// The only route; nil if there are none or several.
    public var only: (route: RouteNumber, tally: Tally)? { count == 1 ? first { _ in true } : nil }

    /// Returns the tallies of the routes that satisfy the condition.
    public func filter(_ isRequested: (RouteNumber) -> Bool) -> RouteTallies {
        var some = RouteTallies()
        for (route, tally) in self where isRequested(route) { some.add(tally, route: route) }
        return some
    }

    public static func += (left: inout RouteTallies, right: RouteTallies) {
        for (route, tally) in right { left.add(tally, route: route) }
    }

    public static func + (left: RouteTallies, right: RouteTallies) -> RouteTallies {
        var sum = left
        sum += right
        return sum
    }

    /// Subtracts by route. Routes without remaining events are left out.
    public static func - (left: RouteTallies, right: RouteTallies) -> RouteTallies {
        var rest = RouteTallies()
        for (route, tally) in left {
            let difference = tally - (right[route] ?? .zero)
            if difference.events > 0 { rest.add(difference, route: route) }
        }
        return rest
    }
}

extension RouteTallies: Sequence {
    /// An iterator over the routes in no particular order.
    public struct Iterator: IteratorProtocol {
        private var newest: (route: RouteNumber, tally: Tally)?
        private var others: [RouteNumber: Tally].Iterator?

        fileprivate init(_ tallies: RouteTallies) {
            if tallies.newest.tally != .zero { newest = tallies.newest }
            others = tallies.others?.makeIterator()
        }

        public mutating func next() -> (route: RouteNumber, tally: Tally)? {
            if let newest {
                self.newest = nil
                return newest
            }
            return others?.next().map { (route: $0.key, tally: $0.value) }
        }
    }

    public func makeIterator() -> Iterator { Iterator(self) }
}

extension RouteTallies: Equatable {
    public static func == (left: RouteTallies, right: RouteTallies) -> Bool {
        left.count == right.count && left.allSatisfy { right[$0.route] == $0.tally }
    }
}

extension RouteTallies: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (RouteNumber, Tally)...) {
        for (route, tally) in elements { add(tally, route: route) }
    }
}
