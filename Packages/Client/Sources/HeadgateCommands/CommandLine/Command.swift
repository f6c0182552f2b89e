/// A command of the tool. The help is made from it.
struct Command: Sendable {
    /// The command's name, which may have two words: `config get`.
    let name: String
    /// The effect of the command, in one line.
    let summary: String
    /// The operands that the command takes.
    var operands: [Operand] = []
    /// The command's options, without those that every command has.
    var options: [Option] = []
    /// Further text of the help.
    var notes = ""
    /// Returns true if the command runs until it is stopped. Then it must not wait for a slow reader of standard error.
    var runsOn: @Sendable (Arguments) -> Bool = { _ in false }
    /// Runs the command.
    let run: @Sendable (Invocation) throws -> ExitCode
}

/// The exit codes of the tool (Protocol, The command line tool).
enum ExitCode: Int32, Sendable {
    /// The command succeeded.
    case success = 0
    /// The daemon refused a request, or something failed.
    case failure = 1
    /// The command line is wrong.
    case usage = 2
    /// The tool cannot connect to the daemon.
    case cannotConnect = 3
}

/// All commands, in the order of the help.
enum CommandTable {
    static let all: [Command] = [
        .send, .status, .metrics, .watch, .flush, .flushesList, .flushesCancel, .barriers, .dispatchers,
        .clients, .whoami,
        .pause, .resume, .retry, .rewind,
        .worker, .peek, .export, .backup, .erase, .rekey, .trace, .deadLettersList, .deadLettersRequeue,
        .deadLettersPurge,
        .activate,
        .configGet,
        .configSet, .configReload, .configCheck, .doctor, .completions,
    ]

    /// Returns the command of a name, or nil if there is none.
    static func command(_ name: String) -> Command? {
        all.first { $0.name == name }
    }

    /// Returns the commands of two words that begin with this word.
    static func family(_ word: String) -> [Command] {
        all.filter { $0.name.hasPrefix(word + " ") }
    }

    /// The first words of all commands.
    static var firstWords: [String] {
        all.compactMap { $0.name.split(separator: " ").first.map(String.init) }
    }
}

/// An operand of a command: an argument that is no option.
struct Operand: Equatable, Sendable {
    /// The number of arguments that an operand stands for.
    enum Arity: Sendable {
        /// Exactly one.
        case one
        /// None or one.
        case optional
        /// Any number.
        case any
        /// At least one.
        case some
    }

    /// The operand's name in the help.
    let name: String
    /// The number of arguments that the operand stands for.
    let arity: Arity

    init(_ name: String, _ arity: Arity = .one) {
        self.name = name
        self.arity = arity
    }

    /// The operand as the help writes it: `[ID …]`.
    var usage: String {
        switch arity {
        case .one: name
        case .optional: "[\(name)]"
        case .any: "[\(name) …]"
        case .some: "\(name) …"
        }
    }
}

/// An option of a command.
struct Option: Equatable, Sendable {
    /// The option's name, with the dashes.
    let name: String
    /// The name of the option's value in the help, or nil if the option has no value.
    let value: String?
    /// The effect of the option, for the help.
    let summary: String

    init(_ name: String, value: String? = nil, _ summary: String) {
        self.name = name
        self.value = value
        self.summary = summary
    }

    /// The option as the help writes it: `--timeout S`.
    var usage: String {
        value.map { "\(name) \($0)" } ?? name
    }
}

extension Option {
    static let socket = Option(
        "--socket", value: "PATH", "the daemon's socket (default: $HEADGATE_SOCKET, then the standard paths)")
    static let help = Option("--help", "print this help")
    static let version = Option("--version", "print the version")
    static let json = Option("--json", "print the daemon's answer as JSON")

    /// The options of every command.
    static let everywhere = [socket, help]
    /// The options that may stand before the command.
    static let beforeCommand = [socket, help, version]
}
