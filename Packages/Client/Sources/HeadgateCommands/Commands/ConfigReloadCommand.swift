extension Command {
    /// `headgate config reload`.
    static let configReload = Command(
        name: "config reload", summary: "Have the daemon read its configuration file again.",
        options: [.json],
        notes:
            "It tells which settings have changed. When the file has faults nothing changes, and each is told with its place."
    ) { invocation in
        let answer = try invocation.ask([Question(method: "config.reload")])[0]
        let changed: [String] = answer.get(key: "changed") ?? []
        let list = changed.map { "changed: \(PlainText.line($0))\n" }.joined()
        try invocation.show(answer, else: changed.isEmpty ? "Nothing has changed.\n" : list)
        return .success
    }
}
