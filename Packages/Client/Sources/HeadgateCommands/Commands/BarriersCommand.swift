import HeadgateClient

extension Command {
    /// `headgate barriers`.
    static let barriers = Command(
        name: "barriers", summary: "Tell what each barrier holds, since when, and what would open it.",
        options: [.json]
    ) { invocation in
        let answers = try invocation.ask([Question(method: "barrier.list"), Question(method: "dispatcher.list")])
        let words = BarrierText(
            dispatchers: ListedDispatcher.list(in: answers[1]) ?? [], clock: invocation.clock,
            style: invocation.terminal.style)
        try invocation.show(answers[0], else: words.list(ListedBarrier.list(in: answers[0]) ?? []))
        return .success
    }
}
