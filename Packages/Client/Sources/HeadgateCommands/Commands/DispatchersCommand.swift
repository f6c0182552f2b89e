import HeadgateClient

extension Command {
    /// `headgate dispatchers`.
    static let dispatchers = Command(
        name: "dispatchers", summary: "Tell what waits for each dispatcher, what it has done, what holds it.",
        options: [.json]
    ) { invocation in
        let answers = try invocation.ask([Question(method: "dispatcher.list"), Question(method: "barrier.list")])
        let words = DispatcherText(
            barriers: ListedBarrier.list(in: answers[1]) ?? [], clock: invocation.clock,
            style: invocation.terminal.style)
        try invocation.show(answers[0], else: words.list(ListedDispatcher.list(in: answers[0]) ?? []))
        return .success
    }
}
