import HeadgateCore

extension RouteTallies {
    /// The number of events by route.
    public var events: [RouteNumber: Int] {
        reduce(into: [:]) { $0[$1.route] = $1.tally.events }
    }
}
