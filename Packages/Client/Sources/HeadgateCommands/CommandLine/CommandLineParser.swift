import HeadgateData

/// Reads a command line.
///
/// Options may stand anywhere after the command. `--socket`, `--help` and `--version` may also stand before it. `--name
/// VALUE` and `--name=VALUE` are equal. There are no options after `--`.
struct CommandLineParser {
    private var rest: ArraySlice<String>
    private var arguments = Arguments()

    /// Reads the arguments after the program's name.
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
        guard let word = rest.popFirst() else { throw UsageError(message: "a command is missing") }
        if word == "help", rest.first == "--manual" { return .manual }
        if word == "help" { return .help(rest.joined(separator: " ")) }
        if asksForHelp { return .help(helpTopic(word)) }
        return try parseCommand(try command(word))
    }

    /// True if `--help` is given, which takes effect even if the rest of the line is wrong.
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
            let hint = SpellingSuggestion.hint(for: word, among: CommandTable.firstWords)
            throw UsageError(message: "there is no command \(word)\(hint)")
        }
        // A word that has a command `list` means that command if no second word is given.
        if let list = CommandTable.command("\(word) list"), rest.first?.hasPrefix("-") ?? true { return list }
        let seconds = family.map { String($0.name.dropFirst(word.count + 1)) }
        guard let second = rest.popFirst() else {
            throw UsageError(
                message: "\(word): one of these words is missing: \(seconds.joined(separator: ", "))", command: word)
        }
        guard let command = CommandTable.command("\(word) \(second)") else {
            let hint = SpellingSuggestion.hint(for: second, among: seconds)
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
            let hint = SpellingSuggestion.hint(for: parts[0], among: options.map(\.name))
            throw UsageError(message: "there is no option \(parts[0])\(hint)", command: command)
        }
        guard option.value != nil else {
            guard parts.count == 1 else {
                throw UsageError(message: "\(option.name) takes no value", command: command)
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
            throw UsageError(message: "\(command.name): unexpected argument \(surplus)", command: command.name)
        }
    }
}

/// The request of a command line.
enum CommandLineRequest: Sendable {
    /// Show the help of a command or of a first word, or of the tool if the text is empty.
    case help(String)
    /// Print the manual page, for packages.
    case manual
    /// Print the version.
    case version
    /// Run a command.
    case run(Command, Arguments)
}

/// The arguments of a command.
struct Arguments: Equatable, Sendable {
    /// The arguments that are no options, in order.
    var operands: [String] = []
    /// The options and their values, in order. An option without a value has one empty text.
    var options: [String: [String]] = [:]

    /// Returns true if an option was given.
    func has(_ option: Option) -> Bool {
        options[option.name] != nil
    }

    /// Returns the last value of an option, or nil if the option was not given.
    func value(_ option: Option) -> String? {
        options[option.name]?.last
    }

    /// Returns all values of an option, or none if the option was not given.
    func values(_ option: Option) -> [String] {
        options[option.name] ?? []
    }
}

extension Arguments {
    /// Returns the value of an option that is a whole number, or nil if the option was not given.
    func number(_ option: Option, from least: Int, of command: String) throws(UsageError) -> DataItem? {
        guard let text = value(option) else { return nil }
        return try Arguments.number(text, from: least, as: option.name, of: command)
    }

    /// Returns the operands as whole numbers from 1.
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

/// The fault of a command line.
struct UsageError: Error, Equatable {
    /// The fault, as a text for people.
    let message: String
    /// The command whose help says more, or an empty text for the tool's own help.
    var command = ""
}
