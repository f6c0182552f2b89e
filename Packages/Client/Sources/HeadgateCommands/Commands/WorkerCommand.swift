extension Command {
    private static let credit = Option(
        "--credit", value: "N", "run up to N commands at once, each with a batch of its own (default: 1)")
    private static let limit = Option("--limit", value: "N", "take at most N events a batch")

    /// `headgate worker`.
    static let worker = Command(
        name: "worker", summary: "Run a command for each batch of a dispatcher of kind worker.",
        operands: [Operand("ID"), Operand("-- COMMAND", .some)], options: [credit, limit],
        notes: """
            The command reads the batch on its standard input, an event a line, and finds $HEADGATE_DISPATCHER,
            $HEADGATE_BATCH (the same for the same events) and $HEADGATE_ATTEMPT in its environment. Exit code 0 settles the
            batch; after any other it comes again. What the command prints is printed. Options stand before `--`.

            A command that takes longer than the dispatcher's lease_ms loses the batch to another worker. When the daemon
            restarts, the worker waits for it and goes on. SIGTERM or Ctrl-C lets running commands finish, and ends it with
            exit code 0; a second one ends the commands, too.
            """
    ) { invocation in
        let operands = invocation.arguments.operands
        let order = WorkOrder(
            dispatcher: operands[0], command: Array(operands.dropFirst()),
            credit: try number(credit, invocation.arguments) ?? 1, limit: try number(limit, invocation.arguments))
        return try WorkerRun(order, invocation).run()
    }

    private static func number(_ option: Option, _ arguments: Arguments) throws(UsageError) -> Int? {
        guard let text = arguments.value(option) else { return nil }
        if let number = Int(text), number > 0 { return number }
        throw UsageError(message: "worker: \(option.usage) must be a whole number from 1", command: "worker")
    }
}
