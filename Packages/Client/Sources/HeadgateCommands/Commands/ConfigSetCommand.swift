extension Command {
    private static let persist = Option("--persist", "keep it over a restart of the daemon")

    /// `headgate config set`.
    static let configSet = Command(
        name: "config set", summary: "Change settings while the daemon runs.",
        operands: [Operand("PATH=JSON", .some)], options: [persist, .json],
        notes: """
            headgate config set barriers.BatchingBarrier.configuration.batch_size=20
            headgate config set 'dispatchers.collect.endpoint="https://example.com/events"' --persist

            All are changed together, or none. A key with dots in it stands in quotes: network.interface_kinds."a.b".
            PATH=null takes back what was set so; what the configuration file says there counts again.
            """
    ) { invocation in
        let patch = try SettingsPatch.parse(invocation.arguments.operands)
        let persists = invocation.arguments.has(persist)
        let question = Question(method: "config.set", params: ["patch": .object(patch), "persist": .bool(persists)])
        let answer = try invocation.ask([question])[0]
        let until = persists ? "also after a restart" : "until the daemon restarts; --persist keeps it longer"
        try invocation.show(answer, else: "It is in force, \(until).\n")
        return .success
    }
}
