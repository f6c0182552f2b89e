import HeadgateClient
import HeadgateData
import HeadgateText

extension Command {
    /// The command `headgate status`.
    static let status = Command(
        name: "status", summary: "Show the daemon's status and counters.", options: [.json]
    ) { invocation in
        let answer = try invocation.ask([Question(method: "status")])[0]
        let words = StatusText(clock: invocation.clock, style: invocation.terminal.style)
        try invocation.show(answer, else: words.text(answer))
        return .success
    }

    /// The command `headgate dispatchers`.
    static let dispatchers = Command(
        name: "dispatchers", summary: "List dispatchers: their backlog, their counters, the barriers that block them.",
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
        name: "barriers",
        summary: "List barriers: what each one blocks, since when, and what would open it.",
        options: [.json]
    ) { invocation in
        let answers = try invocation.ask([Question(method: "barrier.list"), Question(method: "dispatcher.list")])
        let text = BarrierText(dispatchers: ListedDispatcher.list(in: answers[1]) ?? [], clock: invocation.clock)
        let barriers = BarrierList(text: text, style: invocation.terminal.style)
        try invocation.show(answers[0], else: barriers.list(ListedBarrier.list(in: answers[0]) ?? []))
        return .success
    }

    /// The command `headgate clients`.
    static let clients = Command(
        name: "clients",
        summary: "List connected clients, why reading is paused, and who fills the store.",
        options: [.json]
    ) { invocation in
        let answer = try invocation.ask([Question(method: "client.list")])[0]
        let words = ClientText(style: invocation.terminal.style)
        try invocation.show(
            answer, else: words.list(ListedClient.list(in: answer) ?? []) + words.senders(ListedSender.list(in: answer))
        )
        return .success
    }

    private static let reason = Option("--reason", value: "TEXT", "the reason, shown with the barriers")
    private static let flushable = Option("--flushable", "let flushes pass")

    /// The command `headgate pause`.
    static let pause = Command(
        name: "pause", summary: "Pause a dispatcher. It stays paused across restarts until it is resumed.",
        operands: [Operand("ID")], options: [reason, flushable, .json],
        notes: "Events are still accepted and stored."
    ) { invocation in
        let id = invocation.arguments.operands[0]
        var params: DataObject = ["id": .string(id)]
        params["reason"] = invocation.arguments.value(reason).map { .string($0) }
        if invocation.arguments.has(flushable) { params["flushable"] = true }
        let answer = try invocation.ask([Question(method: "dispatcher.pause", params: params)])[0]
        try invocation.show(answer, else: "\(id) is paused; `headgate resume \(id)` resumes it.\n")
        return .success
    }

    /// The command `headgate resume`.
    static let resume = Command(
        name: "resume", summary: "Resume a paused dispatcher.", operands: [Operand("ID")],
        options: [.json]
    ) { invocation in
        let id = invocation.arguments.operands[0]
        let answer = try invocation.ask([Question(method: "dispatcher.resume", params: ["id": .string(id)])])[0]
        try invocation.show(answer, else: "\(id) is resumed.\n")
        return .success
    }

    /// The command `headgate retry`.
    static let retry = Command(
        name: "retry", summary: "Retry a dispatcher now: end its backoff.",
        operands: [Operand("ID")], options: [.json], notes: "A dispatcher that is not backing off is not affected."
    ) { invocation in
        let id = invocation.arguments.operands[0]
        let answer = try invocation.ask([Question(method: "dispatcher.retry", params: ["id": .string(id)])])[0]
        // The daemon answers the same if the dispatcher was not backing off, so the text is true of both.
        try invocation.show(answer, else: "\(id) retries now, or as soon as no other barrier blocks it.\n")
        return .success
    }

    private static let to = Option(
        "--to", value: "WHEN", "the start: a sequence number, a time (RFC 3339), or an age like -2h or -1d (required)")
    private static let dryRun = Option("--dry-run", "count the events, and rewind nothing")

    /// The command `headgate rewind`.
    static let rewind = Command(
        name: "rewind", summary: "Send a dispatcher's retained events again, from a sequence number or time on.",
        operands: [Operand("ID")], options: [to, dryRun, .json],
        notes: "The daemon keeps delivered events only if `store.retain` is set."
    ) { invocation in
        let id = invocation.arguments.operands[0]
        guard let when = invocation.arguments.value(to) else {
            throw UsageError(message: "rewind: --to WHEN is missing", command: "rewind")
        }
        let target: DataItem = Int(when).flatMap { $0 >= 0 ? .number(DataNumber($0)) : nil } ?? .string(when)
        var params: DataObject = ["id": .string(id), "to": target]
        if invocation.arguments.has(dryRun) { params["dry_run"] = true }
        let answer = try invocation.ask([Question(method: "dispatcher.rewind", params: params)])[0]
        let text = RewindText(answer)
        try invocation.show(
            answer,
            else: "\(invocation.arguments.has(dryRun) ? text.preview(of: id) : text.done(id))\n"
                + (text.warning.map { $0 + "\n" } ?? ""))
        return .success
    }

    private static let wait = Option(
        "--wait", "wait for the end and print the result; exit 1 unless all events were delivered or dropped")
    private static let timeout = Option(
        "--timeout", value: "S", "end the flush after S seconds; 0 for no timeout (default: 30)")

    /// The command `headgate flush`.
    static let flush = Command(
        name: "flush", summary: "Send the events that are pending now, through all flushable barriers.",
        operands: [Operand("ID", .any)], options: [wait, timeout, .json],
        notes: "Without an ID, all dispatchers are flushed. `headgate flushes` lists the flushes in progress."
    ) { invocation in
        let params = try flushParams(invocation.arguments)
        let answer = try invocation.ask([Question(method: "flush", params: params)])[0]
        guard invocation.arguments.has(wait) else {
            try invocation.show(answer, else: "The flush has started.\n")
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
