extension Command {
    /// `headgate config check`.
    static let configCheck = Command(
        name: "config check", summary: "Tell what is wrong with a configuration file; exit 1 if anything is.",
        operands: [Operand("FILE")],
        notes: "This runs `headgated --config FILE --check`; no daemon needs to be there."
    ) { invocation in
        throw DaemonProgram.become(["--config", invocation.arguments.operands[0], "--check"])
    }
}
