/// Events and bytes by route. Nearly all events take the same route as the one before, and most groups hold no other: the newest route is
/// counted in place, and only those beside it take a table. A route of which there is nothing is not in it.
public struct RouteTallies: Sendable {
    private var newest: (route: RouteNumber, tally: Tally) = (RouteTable.nobody, .zero)
    /// The newest is none of them. Nil where there are none, since an empty table is handed on like a full one.
    private var others: [RouteNumber: Tally]?

    /// Nothing.
    public init() {}

    /// What some events come to.
    public init(_ events: some Sequence<StoredEvent>) {
        for event in events { add(event) }
    }

    /// How many routes there is something of.
    public var count: Int { (others?.count ?? 0) + (newest.tally == .zero ? 0 : 1) }

    /// Whether there is nothing.
    public var isEmpty: Bool { newest.tally == .zero && others == nil }

    /// All routes together.
    public var total: Tally { others?.values.reduce(newest.tally, +) ?? newest.tally }

    /// What there is of a route; nil where there is nothing.
    public subscript(route: RouteNumber) -> Tally? {
        if route == newest.route { return newest.tally == .zero ? nil : newest.tally }
        return others?[route]
    }

    /// Counts something more.
    @inline(__always)
    public mutating func add(_ tally: Tally, route: RouteNumber) {
        if newest.route != route { turn(to: route) }
        newest.tally += tally
    }

    /// Counts an event.
    public mutating func add(_ event: StoredEvent) { add(event.tally, route: event.route) }

    /// Counts something no more.
    public mutating func remove(_ tally: Tally, route: RouteNumber) {
        if newest.route != route { turn(to: route) }
        newest.tally -= tally
    }

    /// Has a route be the newest.
    private mutating func turn(to route: RouteNumber) {
        var table = others ?? [:]
        others = nil
        if newest.tally != .zero { table[newest.route] = newest.tally }
        newest = (route, table.removeValue(forKey: route) ?? .zero)
        if !table.isEmpty { others = table }
    }

    /// The only route; nil where there is none, or another.
    public var only: (route: RouteNumber, tally: Tally)? { count == 1 ? first { _ in true } : nil }

    /// What there is of some routes.
    public func filter(_ isAsked: (RouteNumber) -> Bool) -> RouteTallies {
        var some = RouteTallies()
        for (route, tally) in self where isAsked(route) { some.add(tally, route: route) }
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

    /// What is left of one without another: routes of which no event is left are left out.
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
    /// In no order.
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
