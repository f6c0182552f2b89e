import HeadgateClient
import HeadgateText

/// The list of barriers that block a dispatcher, with their reasons and what would open them (Behaviour B10).
struct BlockingBarriersList {
    let state: DaemonState
    let clock: WallClock

    /// Returns the list of the barriers that block a dispatcher, each with its reason.
    func holders(of dispatcher: ListedDispatcher) -> HTML {
        let text = BarrierText(dispatchers: state.dispatchers, clock: clock)
        let items = dispatcher.blockedBy.map { id -> HTML in
            guard let barrier = state.barriers.first(where: { $0.id == id }) else { return "<li><b>\(id)</b></li>" }
            let cause = text.cause(of: barrier, holding: [dispatcher.id]) ?? "closed"
            let flush = barrier.isFlushable ? "A flush passes it." : "A flush does not pass it."
            return """
                <li><b>\(id)</b> since \(Formatting.moment(barrier.since, clock))\(age(barrier)): \(cause). \
                \(Formatting.prose(Formatting.sentence(text.opening(of: barrier, holding: [dispatcher.id])))) \(flush)</li>

                """
        }
        guard !items.isEmpty else {
            return
                "<p>No barrier blocks this dispatcher: pending events are sent as fast as the destination accepts them.</p>"
        }
        return "<ul class=\"holders\">\(items)</ul>"
    }

    private func age(_ barrier: ListedBarrier) -> HTML {
        barrier.since.map { " (\(Quantity.time(clock.age($0))))" } ?? ""
    }
}
