import HeadgateClient
import HeadgateData

extension Command {
    /// `headgate status`.
    static let status = Command(
        name: "status", summary: "Tell how the daemon is and what it has done.", options: [.json]
    ) { invocation in
        let answer = try invocation.ask([Question(method: "status")])[0]
        let words = StatusText(clock: invocation.clock, style: invocation.terminal.style)
        try invocation.show(answer, else: words.text(answer))
        return .success
    }

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

    private static let limit = Option("--limit", value: "N", "how many events (default: 10)")
    private static let after = Option("--after", value: "SEQ", "only those behind this sequence number")

    /// `headgate peek`.
    static let peek = Command(
        name: "peek", summary: "Show the next events of a dispatcher, which stay where they are.",
        operands: [Operand("ID")], options: [limit, after, .json],
        notes: "They are shown as they are stored: transformations come just before sending."
    ) { invocation in
        let id = invocation.arguments.operands[0]
        var params: DataObject = ["dispatcher": .string(id)]
        params["limit"] = try invocation.arguments.number(limit, from: 1, of: "peek")
        params["after"] = try invocation.arguments.number(after, from: 0, of: "peek")
        let answer = try invocation.ask([Question(method: "queue.peek", params: params)])[0]
        let words = QueueText(clock: invocation.clock, style: invocation.terminal.style)
        try invocation.show(answer, else: words.list(try PeekedEvents(answer), of: id))
        return .success
    }
}
