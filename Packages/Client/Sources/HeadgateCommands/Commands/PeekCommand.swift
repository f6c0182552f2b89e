import HeadgateClient
import HeadgateData

extension Command {
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
