import HeadgateClient

/// Says of dispatchers what they have done, what waits, and what holds them.
struct DispatcherText {
    let barriers: [ListedBarrier]
    let clock: WallClock
    let style: Style

    /// All dispatchers in a table, and below it why any is held or fails.
    func list(_ dispatchers: [ListedDispatcher]) -> String {
        guard !dispatchers.isEmpty else { return "There are no dispatchers.\n" }
        var table = Table([
            .init("DISPATCHER"), .init("KIND"), .init("WAY"), .init("PENDING", isNumeric: true),
            .init("IN FLIGHT", isNumeric: true), .init("SENT", isNumeric: true), .init("FAILED", isNumeric: true),
            .init("DEAD", isNumeric: true), .init("OLDEST"),
        ])
        for dispatcher in dispatchers { table.add(row(dispatcher)) }
        let remarks = dispatchers.flatMap { self.remarks(on: $0, dispatchers) }
        return table.text(style) + (remarks.isEmpty ? "" : "\n") + remarks.joined()
    }

    private func row(_ dispatcher: ListedDispatcher) -> [Table.Cell] {
        [
            .init(dispatcher.id, .strong), .init(dispatcher.kind),
            dispatcher.isOpen ? .init("open", .good) : .init("closed", .attention),
            .init(dispatcher.pending), .init(dispatcher.inFlight), .init(dispatcher.sent),
            .init(dispatcher.failed, .attention), .init(dispatcher.dead, .bad),
            .init(dispatcher.oldest.map(Quantity.time) ?? "–"),
        ]
    }

    private func remarks(on dispatcher: ListedDispatcher, _ all: [ListedDispatcher]) -> [String] {
        let words = BarrierText(dispatchers: all, clock: clock, style: style)
        var remarks = words.holders(of: dispatcher, among: barriers)
        if dispatcher.isFlushing { remarks.append("is being flushed") }
        if let error = dispatcher.lastError { remarks.append("last error: \(error)") }
        if dispatcher.expired > 0 { remarks.append("\(Quantity.counted(dispatcher.expired, "event")) expired") }
        if dispatcher.evicted > 0 { remarks.append("\(Quantity.counted(dispatcher.evicted, "event")) evicted") }
        return remarks.map { "\(style.apply(.strong, to: PlainText.line(dispatcher.id))): \(PlainText.line($0))\n" }
    }
}
