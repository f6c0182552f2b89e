import HeadgateData

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
            arguments.options[option.name] = [""]
            return
        }
        guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
            throw UsageError(message: "\(option.usage): the value is missing", command: command)
        }
        arguments.options[option.name, default: []].append(value)
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

/// What a command line asks for.
enum CommandLineRequest: Sendable {
    /// The tool is to be explained, or, with a command's name or first word, that.
    case help(String)
    /// The manual page is to be printed, for packages.
    case manual
    /// The version is to be told.
    case version
    /// A command is to be run.
    case run(Command, Arguments)
}

/// What a command was given.
struct Arguments: Equatable, Sendable {
    /// What is no option, in order.
    var operands: [String] = []
    /// The options that were given, each with its values in order; an empty one if it has none.
    var options: [String: [String]] = [:]

    /// Whether an option was given.
    func has(_ option: Option) -> Bool {
        options[option.name] != nil
    }

    /// The last value of an option; nil if it was not given.
    func value(_ option: Option) -> String? {
        options[option.name]?.last
    }

    /// All values of an option that may be repeated; none if it was not given.
    func values(_ option: Option) -> [String] {
        options[option.name] ?? []
    }
}

extension Arguments {
    /// The value of an option that is a whole number; nil if it was not given.
    func number(_ option: Option, from least: Int, of command: String) throws(UsageError) -> DataItem? {
        guard let text = value(option) else { return nil }
        return try Arguments.number(text, from: least, as: option.name, of: command)
    }

    /// The operands as whole numbers, from 1.
    func numbers(as name: String, of command: String) throws(UsageError) -> [DataItem] {
        var numbers: [DataItem] = []
        for text in operands { numbers.append(try Arguments.number(text, from: 1, as: name, of: command)) }
        return numbers
    }

    private static func number(
        _ text: String, from least: Int, as name: String, of command: String
    ) throws(UsageError) -> DataItem {
        guard let number = Int(text), number >= least else {
            throw UsageError(
                message: "\(command): \(name) \(text) is not a whole number from \(least)", command: command)
        }
        return .number(DataNumber(number))
    }
}

/// A command line that makes no sense.
struct UsageError: Error, Equatable {
    /// What is wrong with it, for people.
    let message: String
    /// Where to read more: the command's name, or empty for the tool's own help.
    var command = ""
}
