extension Command {
    /// `headgate completions`.
    static let completions = Command(
        name: "completions", summary: "Print a script that teaches a shell to complete headgate's commands.",
        operands: [Operand("SHELL")],
        notes: """
            Shells: bash, zsh, fish. For this session: `source <(headgate completions bash)`. For good: put it where the
            shell looks, like ~/.local/share/bash-completion/completions/headgate.
            """
    ) { invocation in
        let name = invocation.arguments.operands[0]
        guard let shell = Shell(rawValue: name) else {
            let hint = NearestWord.hint(for: name, among: Shell.allCases.map(\.rawValue))
            throw UsageError(message: "completions: there are none for \(name)\(hint)", command: "completions")
        }
        try invocation.terminal.write(shell.completions)
        return .success
    }
}
