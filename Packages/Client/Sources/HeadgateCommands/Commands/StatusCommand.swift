extension Command {
    /// `headgate status`.
    static let status = Command(
        name: "status", summary: "Tell how the daemon is and what it has done.", options: [.json]
    ) { invocation in
        let answer = try invocation.ask([Question(method: "status")])[0]
        let words = StatusText(clock: invocation.clock, style: invocation.terminal.style)
        try invocation.show(answer, else: words.text(answer))
        return .success
    }
}
