import HeadgateClient
import HeadgateData

extension Command {
    private static let namespace = Option(
        "--namespace", value: "NAME", "the namespace of the id (default: any)")

    /// The command `headgate trace`.
    static let trace = Command(
        name: "trace", summary: "Show the state or outcome of an event, and the barriers that block it.",
        operands: [Operand("ID")],
        options: [namespace, .json],
        notes: """
            Pending events and dead letters are always found. Other outcomes are remembered for the newest events until the
            daemon ends (trace.remember in its configuration). The exit code is 1 for an event that is not found.
            """
    ) { invocation in
        let requested = invocation.arguments.value(namespace) ?? "*"
        let params: DataObject = ["id": .string(invocation.arguments.operands[0]), "namespace": .string(requested)]
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
