import Testing

@testable import HeadgateCommands

@Suite struct CommandLineParserTests {
    @Test(
        "--socket may stand before or after the command, with its value behind it or behind =",
        arguments: [
            ["--socket", "/s", "status"], ["status", "--socket", "/s"], ["--socket=/s", "status"],
            ["status", "--socket=/s"], ["--socket", "/other", "status", "--socket", "/s"],
        ])
    func socket(words: [String]) throws {
        let (name, arguments) = try run(words)
        #expect(name == "status")
        #expect(arguments.value(.socket) == "/s")
        #expect(arguments.operands.isEmpty)
    }

    @Test("Options may stand between operands; after -- there are only operands")
    func operands() throws {
        #expect(try run(["flush", "a", "--wait", "b", "--timeout", "3"]).arguments.operands == ["a", "b"])
        #expect(try run(["send", "x", "--", "--a=b", "--json"]).arguments.operands == ["x", "--a=b", "--json"])
        #expect(try run(["send", "-", "note=a=b"]).arguments.operands == ["-", "note=a=b"])
    }

    @Test("A command may have two words")
    func twoWords() throws {
        let (name, arguments) = try run(["config", "get", "--layer", "file"])
        #expect(name == "config get")
        #expect(arguments.options["--layer"] == ["file"])
    }

    @Test(
        "An option may be given several times: its values keep their order, and the last one counts for a single value"
    )
    func repeated() throws {
        let (_, arguments) = try run(["send", "x", "--dispatcher", "a", "--key", "k", "--dispatcher=b"])
        let dispatcher = Option("--dispatcher", value: "ID", "")
        #expect(arguments.values(dispatcher) == ["a", "b"] && arguments.value(dispatcher) == "b")
        #expect(arguments.values(Option("--id", value: "ID", "")).isEmpty)
    }

    @Test(
        "A command that can list lists by default",
        arguments: [
            ["dead-letters"], ["dead-letters", "list"], ["dead-letters", "--json"],
            ["dead-letters", "--limit", "3", "--json"],
        ])
    func listed(words: [String]) throws {
        #expect(try run(words).name == "dead-letters list")
    }

    @Test(
        "An unknown word is reported with the nearest known one",
        arguments: [
            ([], "a command is missing"),
            (["dance"], "there is no command dance"),
            (["staus"], "there is no command staus; did you mean status?"),
            (["config"], "config: one of these words is missing: get, set, reload, check"),
            (["config", "gte"], "there is no command config gte; did you mean get?"),
            (["status", "--colour"], "there is no option --colour"),
            (["flush", "--wiat"], "there is no option --wiat; did you mean --wait?"),
            (["--sokcet", "x"], "there is no option --sokcet; did you mean --socket?"),
            (["--socket"], "--socket PATH: the value is missing"),
            (["flush", "--timeout"], "--timeout S: the value is missing"),
            (["flush", "--wait=yes"], "--wait takes no value"),
            (["pause"], "pause: ID is missing"),
            (["resume", "a", "b"], "resume: unexpected argument b"),
            (["status", "now"], "status: unexpected argument now"),
            (["dead-letters", "purgue"], "there is no command dead-letters purgue; did you mean purge?"),
            (["dead-letters", "list", "3"], "dead-letters list: unexpected argument 3"),
        ] as [([String], String)])
    func nonsense(words: [String], message: String) {
        let error = #expect(throws: UsageError.self) { try CommandLineParser.parse(words) }
        #expect(error?.message == message)
    }

    @Test(
        "Help is given everywhere, whatever else is wrong",
        arguments: [
            (["--help"], ""), (["help"], ""), (["send", "--help"], "send"),
            (["status", "--nonsense", "--help"], "status"),
            (["dead-letters", "--help"], "dead-letters"), (["config", "get", "--help"], "config get"),
            (["config", "--help"], "config"),
            (["help", "flush"], "flush"),
            (["--socket", "/s", "pause", "--help"], "pause"),
        ] as [([String], String)])
    func help(words: [String], topic: String) throws {
        guard case .help(topic) = try CommandLineParser.parse(words) else {
            Issue.record("\(words) asks for something else")
            return
        }
    }

    @Test("--version asks for the version")
    func version() throws {
        guard case .version = try CommandLineParser.parse(["--version"]) else {
            Issue.record("no version")
            return
        }
    }

    private func run(_ words: [String]) throws -> (name: String, arguments: Arguments) {
        guard case .run(let command, let arguments) = try CommandLineParser.parse(words) else {
            throw UsageError(message: "\(words) runs nothing")
        }
        return (command.name, arguments)
    }
}
