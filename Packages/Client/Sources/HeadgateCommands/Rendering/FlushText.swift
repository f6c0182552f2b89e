import HeadgateClient

/// Says how a flush ended (Behaviour F2).
struct FlushText {
    let style: Style

    /// The answer in words.
    func text(_ answer: FinishedFlush) -> String {
        guard !answer.dispatchers.isEmpty else { return heading(answer) + "\n" }
        var table = Table([
            .init("DISPATCHER"), .init("SENT", isNumeric: true), .init("FAILED", isNumeric: true),
            .init("LEFT", isNumeric: true), .init("BLOCKED BY"),
        ])
        for part in answer.dispatchers {
            table.add([
                .init(part.dispatcher, .strong), .init(part.sent), .init(part.failed, .bad),
                .init(part.left, .attention), .init(part.blockedBy.joined(separator: ", ")),
            ])
        }
        return heading(answer) + "\n" + table.text(style)
    }

    private func heading(_ answer: FinishedFlush) -> String {
        switch answer.ended {
        case .settled: style.apply(.good, to: "All is settled.")
        case .timeout: style.apply(.attention, to: "The time ran out before all was settled.")
        case .cancelled: style.apply(.attention, to: "The flush was cancelled.")
        }
    }
}
