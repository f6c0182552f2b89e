import HeadgateData
import HeadgateText

extension Command {
    /// The command `headgate flushes list`, whose second word may be left out.
    static let flushesList = Command(
        name: "flushes list", summary: "List the flushes in progress, also those of disconnected clients.",
        options: [.json],
        notes: "`list` is optional. A flush without a timeout lasts until its events are sent or it is cancelled."
    ) { invocation in
        let answer = try invocation.ask([Question(method: "flush.list")])[0]
        let words = RunningFlushText(clock: invocation.clock, style: invocation.terminal.style)
        try invocation.show(answer, else: words.list(RunningFlush.list(in: answer)))
        return .success
    }

    private static let all = Option("--all", "cancel every flush that a client has started")

    /// The command `headgate flushes cancel`.
    static let flushesCancel = Command(
        name: "flushes cancel", summary: "Cancel flushes. Events that were not sent stay pending.",
        operands: [Operand("FLUSH", .any)], options: [all, .json],
        notes: "`headgate flushes` lists the ids. `--all` leaves out the daemon's own flushes."
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
            throw UsageError(message: "flushes cancel: give the ids of flushes, or --all", command: "flushes cancel")
        }
        guard named.isEmpty else { return named }
        let running = RunningFlush.list(in: try invocation.ask([Question(method: "flush.list")])[0])
        return running.filter { $0.uid != nil }.map(\.id)
    }
}
