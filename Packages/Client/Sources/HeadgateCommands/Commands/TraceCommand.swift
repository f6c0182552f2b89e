import HeadgateClient
import HeadgateData

extension Command {
    private static let namespace = Option(
        "--namespace", value: "NAME", "in which the id was given (default: any)")

    /// The command `headgate trace`.
    static let trace = Command(
        name: "trace", summary: "Tell what has become of one event, and what holds it.", operands: [Operand("ID")],
        options: [namespace, .json],
        notes: """
            What waits and dead letters are always found. What has ended otherwise is remembered for the newest events, until
            the daemon ends (trace.remember in its configuration); the exit code is 1 for an event that is not found.
            """
    ) { invocation in
        let asked = invocation.arguments.value(namespace) ?? "*"
        let params: DataObject = ["id": .string(invocation.arguments.operands[0]), "namespace": .string(asked)]
        let answers = try invocation.ask([
            Question(method: "event.trace", params: params), Question(method: "barrier.list"),
            Question(method: "dispatcher.list"),
        ])
        let words = TraceText(
            barriers: ListedBarrier.list(in: answers[1]) ?? [],
            dispatchers: ListedDispatcher.list(in: answers[2]) ?? [], clock: invocation.clock,
            style: invocation.terminal.style)
        try invocation.show(answers[0], else: words.text(ListedTrace.list(in: answers[0]) ?? []))
        return .success
    }
}
