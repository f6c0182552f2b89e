import HeadgateClient
import HeadgateData

extension Command {
    private static let wait = Option("--wait", "wait for the end and tell what was sent; exit 1 unless all is settled")
    private static let timeout = Option(
        "--timeout", value: "S", "give up after so many seconds; 0 is never (default: 30)")

    /// `headgate flush`.
    static let flush = Command(
        name: "flush", summary: "Send what is queued now, through barriers that are flushable.",
        operands: [Operand("ID", .any)], options: [wait, timeout, .json],
        notes: "Without dispatchers' ids all are flushed."
    ) { invocation in
        let params = try flushParams(invocation.arguments)
        let answer = try invocation.ask([Question(method: "flush", params: params)])[0]
        guard invocation.arguments.has(wait) else {
            try invocation.show(answer, else: "The flush has begun.\n")
            return .success
        }
        let end = try FinishedFlush(answer)
        try invocation.show(answer, else: FlushText(style: invocation.terminal.style).text(end))
        return end.ended == .settled ? .success : .failure
    }

    private static func flushParams(_ arguments: Arguments) throws(UsageError) -> DataObject {
        var params = DataObject()
        if !arguments.operands.isEmpty {
            params["dispatchers"] = .array(arguments.operands.map { .string($0) })
        }
        if arguments.has(wait) { params["wait"] = true }
        guard let text = arguments.value(timeout) else { return params }
        guard let seconds = Double(text), seconds >= 0, seconds < 1e9 else {
            throw UsageError(message: "flush: --timeout \(text) is not a number of seconds", command: "flush")
        }
        params["timeout_ms"] = .number(DataNumber(Int((seconds * 1_000).rounded(.up))))
        return params
    }
}
