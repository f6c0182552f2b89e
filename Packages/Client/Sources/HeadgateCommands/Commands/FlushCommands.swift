import HeadgateData

extension Command {
    /// The command `headgate flushes list`, whose second word may be left out.
    static let flushesList = Command(
        name: "flushes list", summary: "Show the flushes under way, also those of clients that have disconnected.",
        options: [.json],
        notes: "`list` may be left out. A flush without a timeout lasts until its events are sent or it is cancelled."
    ) { invocation in
        let answer = try invocation.ask([Question(method: "flush.list")])[0]
        let words = RunningFlushText(clock: invocation.clock, style: invocation.terminal.style)
        try invocation.show(answer, else: words.list(RunningFlush.list(in: answer)))
        return .success
    }

    private static let all = Option("--all", "every flush that a client has begun")

    /// The command `headgate flushes cancel`.
    static let flushesCancel = Command(
        name: "flushes cancel", summary: "End flushes. The events that they have not sent stay in the queue.",
        operands: [Operand("FLUSH", .any)], options: [all, .json],
        notes: "`headgate flushes` shows the names. The daemon's own flushes are cancelled by name only."
    ) { invocation in
        let flushes = try cancelled(invocation)
        let answers = try invocation.ask(
            flushes.map { Question(method: "flush.cancel", params: ["flush": .string($0)]) })
        let count = "\(Quantity.grouped(flushes.count)) \(flushes.count == 1 ? "flush" : "flushes")"
        try invocation.show(answers.last ?? [:], else: "\(count) cancelled.\n")
        return .success
    }

    /// Returns the flushes that the arguments name.
    private static func cancelled(_ invocation: Invocation) throws -> [String] {
        let named = invocation.arguments.operands
        guard named.isEmpty == invocation.arguments.has(all) else {
            throw UsageError(message: "flushes cancel: name flushes, or all with --all", command: "flushes cancel")
        }
        guard named.isEmpty else { return named }
        let running = RunningFlush.list(in: try invocation.ask([Question(method: "flush.list")])[0])
        return running.filter { $0.uid != nil }.map(\.id)
    }
}
