import HeadgateCore

extension RouteTallies {
    /// How many events there are of each route.
    public var events: [RouteNumber: Int] {
        reduce(into: [:]) { $0[$1.route] = $1.tally.events }
    }
}
