import HeadgateClient
import HeadgateData

extension Command {
    private static let stdin = Option("--stdin", "read events from standard input, one object a line")

    /// `headgate send`.
    static let send = Command(
        name: "send", summary: "Track an event, or many from standard input.",
        operands: [Operand("EVENT", .optional), Operand("KEY=VALUE", .any)], options: [stdin, .json],
        notes: """
            A value that is JSON (1.50, true, null, {…}, […], "text in quotes") is sent as that, any other as a string.
            The event's id is printed once the daemon has stored it.

            With --stdin each line is an object: {"event": "signup", "data": {"plan": "pro"}}, with further members if
            you like: id, key, time, dispatchers, ttl_ms. A bad line is told with its number; the rest goes on.
            When the daemon restarts meanwhile, nothing is lost and nothing is tracked twice.
            """
    ) { invocation in
        if invocation.arguments.has(stdin) { return try sendLines(invocation) }
        return try sendOne(invocation)
    }

    private static func sendOne(_ invocation: Invocation) throws -> ExitCode {
        guard let event = invocation.arguments.operands.first else {
            throw UsageError(message: "send: neither EVENT nor --stdin", command: "send")
        }
        let data = try EventData.parse(invocation.arguments.operands.dropFirst())
        let answer = try invocation.track(OutgoingEvent(event, data: data))
        try invocation.show(answer, else: (answer.get(key: "id") ?? "") + "\n")
        if answer.get(key: "unrouted") == true {
            invocation.terminal.complain("no dispatcher wants this event: it was not stored")
        }
        return .success
    }

    private static func sendLines(_ invocation: Invocation) throws -> ExitCode {
        guard invocation.arguments.operands.isEmpty else {
            throw UsageError(message: "send: either EVENT or --stdin", command: "send")
        }
        return try LineSender(invocation).run()
    }
}
