/// Events and bytes by route. Nearly all events take the same route as the one before, so a run of them is counted before
/// it is looked up where it belongs.
struct RouteTallies {
    private var ended: [RouteNumber: Tally] = [:]
    private var run: (route: RouteNumber, tally: Tally) = (RouteTable.nobody, .zero)

    mutating func add(_ tally: Tally, route: RouteNumber) {
        if run.route != route {
            endRun()
            run.route = route
        }
        run.tally += tally
    }

    private mutating func endRun() {
        if run.tally.events > 0 { ended[run.route, default: .zero] += run.tally }
        run.tally = .zero
    }

    /// What was counted of each route.
    var byRoute: [RouteNumber: Tally] {
        var whole = self
        whole.endRun()
        return whole.ended
    }
}
