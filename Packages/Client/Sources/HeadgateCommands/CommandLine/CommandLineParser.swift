/// Reads a command line.
///
/// Options may stand anywhere behind the command, `--socket`, `--help` and `--version` before it, too. `--name VALUE`
/// and `--name=VALUE` are the same. Behind `--` there are no options.
struct CommandLineParser {
    private var rest: ArraySlice<String>
    private var arguments = Arguments()

    /// Reads what stands behind the program's name.
    static func parse(_ words: [String]) throws(UsageError) -> CommandLineRequest {
        var parser = CommandLineParser(rest: words[...])
        return try parser.parse()
    }

    private init(rest: ArraySlice<String>) {
        self.rest = rest
    }

    private mutating func parse() throws(UsageError) -> CommandLineRequest {
        while let word = rest.first, word.hasPrefix("-") {
            rest.removeFirst()
            try takeOption(word, among: Option.beforeCommand, of: "")
        }
        if arguments.has(.help) { return .help("") }
        if arguments.has(.version) { return .version }
        guard let word = rest.popFirst() else { throw UsageError(message: "there is no command") }
        if word == "help", rest.first == "--manual" { return .manual }
        if word == "help" { return .help(rest.joined(separator: " ")) }
        if asksForHelp { return .help(helpTopic(word)) }
        return try parseCommand(try command(word))
    }

    /// Help is given whatever else is wrong.
    private var asksForHelp: Bool {
        rest.prefix { $0 != "--" }.contains(Option.help.name)
    }

    private func helpTopic(_ word: String) -> String {
        let both = "\(word) \(rest.first ?? "")"
        return CommandTable.command(both) != nil ? both : word
    }

    private mutating func command(_ word: String) throws(UsageError) -> Command {
        if let command = CommandTable.command(word) { return command }
        let family = CommandTable.family(word)
        guard !family.isEmpty else {
            let hint = NearestWord.hint(for: word, among: CommandTable.firstWords)
            throw UsageError(message: "there is no command \(word)\(hint)")
        }
        // What can be listed is listed when nothing else is said.
        if let list = CommandTable.command("\(word) list"), rest.first?.hasPrefix("-") ?? true { return list }
        let seconds = family.map { String($0.name.dropFirst(word.count + 1)) }
        guard let second = rest.popFirst() else {
            throw UsageError(message: "\(word) what? \(seconds.joined(separator: ", "))", command: word)
        }
        guard let command = CommandTable.command("\(word) \(second)") else {
            let hint = NearestWord.hint(for: second, among: seconds)
            throw UsageError(message: "there is no command \(word) \(second)\(hint)", command: word)
        }
        return command
    }

    private mutating func parseCommand(_ command: Command) throws(UsageError) -> CommandLineRequest {
        let options = command.options + Option.everywhere
        while let word = rest.popFirst() {
            if word == "--" {
                arguments.operands += rest
                break
            }
            if word.hasPrefix("-"), word != "-" {
                try takeOption(word, among: options, of: command.name)
            } else {
                arguments.operands.append(word)
            }
        }
        try checkOperands(of: command)
        return .run(command, arguments)
    }

    private mutating func takeOption(_ word: String, among options: [Option], of command: String) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let option = options.first(where: { $0.name == parts[0] }) else {
            let hint = NearestWord.hint(for: parts[0], among: options.map(\.name))
            throw UsageError(message: "there is no option \(parts[0])\(hint)", command: command)
        }
        guard option.value != nil else {
            guard parts.count == 1 else {
                throw UsageError(message: "\(option.name) has no value", command: command)
            }
            arguments.options[option.name] = ""
            return
        }
        guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
            throw UsageError(message: "\(option.usage): the value is missing", command: command)
        }
        arguments.options[option.name] = value
    }

    private func checkOperands(of command: Command) throws(UsageError) {
        let needed = command.operands.filter { $0.arity == .one || $0.arity == .some }
        guard arguments.operands.count >= needed.count else {
            let missing = needed[arguments.operands.count]
            throw UsageError(message: "\(command.name): \(missing.name) is missing", command: command.name)
        }
        let isBounded = !command.operands.contains { $0.arity == .any || $0.arity == .some }
        guard !isBounded || arguments.operands.count <= command.operands.count else {
            let surplus = arguments.operands[command.operands.count]
            throw UsageError(message: "\(command.name): what is \(surplus)?", command: command.name)
        }
    }
}
