/// A command of the tool, from which its help is made.
struct Command: Sendable {
    /// The command's name, which may be of two words: `config get`.
    let name: String
    /// What it does, in one line.
    let summary: String
    /// What it is given.
    var operands: [Operand] = []
    /// The command's options, without those that every command has.
    var options: [Option] = []
    /// What more there is to know, for people.
    var notes = ""
    /// Returns true if the command runs until it is stopped, so that a reader of standard error that stalls must not hold
    /// it up.
    var runsOn: @Sendable (Arguments) -> Bool = { _ in false }
    /// Does it.
    let run: @Sendable (Invocation) throws -> ExitCode
}

/// How the tool ends (Protocol, The command line tool).
enum ExitCode: Int32, Sendable {
    /// All is well.
    case success = 0
    /// The daemon refused, or something failed.
    case failure = 1
    /// The command line makes no sense.
    case usage = 2
    /// There is no connection to the daemon.
    case cannotConnect = 3
}

/// All commands, in the order in which the help shows them.
enum CommandTable {
    static let all: [Command] = [
        .send, .status, .metrics, .watch, .flush, .barriers, .dispatchers, .clients, .pause, .resume, .retry,
        .worker, .peek, .export, .trace, .deadLettersList, .deadLettersRequeue, .deadLettersPurge, .activate,
        .configGet,
        .configSet, .configReload, .configCheck, .doctor, .completions,
    ]

    /// The command of a name.
    static func command(_ name: String) -> Command? {
        all.first { $0.name == name }
    }

    /// The commands whose name begins with this word and has another.
    static func family(_ word: String) -> [Command] {
        all.filter { $0.name.hasPrefix(word + " ") }
    }

    /// What may stand first on the command line.
    static var firstWords: [String] {
        all.compactMap { $0.name.split(separator: " ").first.map(String.init) }
    }
}

/// What a command is given besides options.
struct Operand: Equatable, Sendable {
    /// How many there may be.
    enum Arity: Sendable {
        /// There has to be one.
        case one
        /// There may be one.
        case optional
        /// There may be any number of them.
        case any
        /// There has to be at least one.
        case some
    }

    /// What it is called in the help.
    let name: String
    /// How many there may be.
    let arity: Arity

    init(_ name: String, _ arity: Arity = .one) {
        self.name = name
        self.arity = arity
    }

    /// How it is written: `[ID …]`.
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
    /// What its value is called in the help; nil for one that has none.
    let value: String?
    /// What it does, for people.
    let summary: String

    init(_ name: String, value: String? = nil, _ summary: String) {
        self.name = name
        self.value = value
        self.summary = summary
    }

    /// How it is written: `--timeout S`.
    var usage: String {
        value.map { "\(name) \($0)" } ?? name
    }
}

extension Option {
    static let socket = Option(
        "--socket", value: "PATH", "the daemon's socket (default: $HEADGATE_SOCKET, or the usual place)")
    static let help = Option("--help", "explain the command")
    static let version = Option("--version", "tell the version")
    static let json = Option("--json", "print the daemon's answer as JSON")

    /// Those that every command has.
    static let everywhere = [socket, help]
    /// Those that may stand before the command.
    static let beforeCommand = [socket, help, version]
}
