import HeadgateClient
import HeadgateData

extension Command {
    /// The command `headgate status`.
    static let status = Command(
        name: "status", summary: "Tell how the daemon is and what it has done.", options: [.json]
    ) { invocation in
        let answer = try invocation.ask([Question(method: "status")])[0]
        let words = StatusText(clock: invocation.clock, style: invocation.terminal.style)
        try invocation.show(answer, else: words.text(answer))
        return .success
    }

    /// The command `headgate dispatchers`.
    static let dispatchers = Command(
        name: "dispatchers", summary: "Tell what waits for each dispatcher, what it has done, what holds it.",
        options: [.json]
    ) { invocation in
        let answers = try invocation.ask([Question(method: "dispatcher.list"), Question(method: "barrier.list")])
        let words = DispatcherText(
            barriers: ListedBarrier.list(in: answers[1]) ?? [], clock: invocation.clock,
            style: invocation.terminal.style)
        let orphans = OrphanText(clock: invocation.clock, style: invocation.terminal.style)
        try invocation.show(
            answers[0],
            else: words.list(ListedDispatcher.list(in: answers[0]) ?? [])
                + orphans.list(ListedOrphan.list(in: answers[0])))
        return .success
    }

    /// The command `headgate barriers`.
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

    /// The command `headgate clients`.
    static let clients = Command(
        name: "clients", summary: "Tell who is connected, what each has sent, and why one is not read.",
        options: [.json]
    ) { invocation in
        let answer = try invocation.ask([Question(method: "client.list")])[0]
        let words = ClientText(style: invocation.terminal.style)
        try invocation.show(answer, else: words.list(ListedClient.list(in: answer) ?? []))
        return .success
    }

    private static let reason = Option("--reason", value: "TEXT", "why, for those who look at the barriers")
    private static let flushable = Option("--flushable", "let flushes through all the same")

    /// The command `headgate pause`.
    static let pause = Command(
        name: "pause", summary: "Hold a dispatcher until it is resumed, also over a restart.",
        operands: [Operand("ID")], options: [reason, flushable, .json],
        notes: "Events are accepted and kept all the same."
    ) { invocation in
        let id = invocation.arguments.operands[0]
        var params: DataObject = ["id": .string(id)]
        params["reason"] = invocation.arguments.value(reason).map { .string($0) }
        if invocation.arguments.has(flushable) { params["flushable"] = true }
        let answer = try invocation.ask([Question(method: "dispatcher.pause", params: params)])[0]
        try invocation.show(answer, else: "\(id) is paused; `headgate resume \(id)` opens the way again.\n")
        return .success
    }

    /// The command `headgate resume`.
    static let resume = Command(
        name: "resume", summary: "Open the way to a dispatcher that was paused.", operands: [Operand("ID")],
        options: [.json]
    ) { invocation in
        let id = invocation.arguments.operands[0]
        let answer = try invocation.ask([Question(method: "dispatcher.resume", params: ["id": .string(id)])])[0]
        try invocation.show(answer, else: "\(id) is resumed.\n")
        return .success
    }

    /// The command `headgate retry`.
    static let retry = Command(
        name: "retry", summary: "End a dispatcher's wait after a failure: its next attempt begins now.",
        operands: [Operand("ID")], options: [.json], notes: "Without such a wait nothing happens."
    ) { invocation in
        let id = invocation.arguments.operands[0]
        let answer = try invocation.ask([Question(method: "dispatcher.retry", params: ["id": .string(id)])])[0]
        try invocation.show(answer, else: "\(id) waits no longer: its next attempt begins now.\n")
        return .success
    }

    private static let to = Option(
        "--to", value: "WHEN", "a sequence number, a time (RFC 3339), or a duration back like -2h or -1d (required)")

    /// The command `headgate rewind`.
    static let rewind = Command(
        name: "rewind", summary: "Send a dispatcher's events again, from a place on that the store still keeps.",
        operands: [Operand("ID")], options: [to, .json],
        notes: "The daemon keeps delivered events only as long as `store.retain` says."
    ) { invocation in
        let id = invocation.arguments.operands[0]
        guard let when = invocation.arguments.value(to) else {
            throw UsageError(message: "rewind: --to WHEN is missing", command: "rewind")
        }
        let place: DataItem = Int(when).flatMap { $0 >= 0 ? .number(DataNumber($0)) : nil } ?? .string(when)
        let params: DataObject = ["id": .string(id), "to": place]
        let answer = try invocation.ask([Question(method: "dispatcher.rewind", params: params)])[0]
        let count = answer.get(key: "events", as: Int.self) ?? 0
        let first = answer.get(key: "first_seq", as: Int.self) ?? 0
        let isComplete = answer.get(key: "complete", as: Bool.self) ?? true
        let note = isComplete ? "" : "Nothing is retained (`store.retain`), so that some events may be missing.\n"
        try invocation.show(
            answer, else: "\(id) is rewound to \(first): \(Quantity.counted(count, "event")) pending again.\n\(note)")
        return .success
    }

    private static let wait = Option("--wait", "wait for the end and tell what was sent; exit 1 unless all is settled")
    private static let timeout = Option(
        "--timeout", value: "S", "give up after so many seconds; 0 is never (default: 30)")

    /// The command `headgate flush`.
    static let flush = Command(
        name: "flush", summary: "Send what is queued now, through barriers that are flushable.",
        operands: [Operand("ID", .any)], options: [wait, timeout, .json],
        notes: "Without dispatchers' ids all are flushed. `headgate flushes` shows the flushes under way."
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
