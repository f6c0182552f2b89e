/// An option of a command.
struct Option: Equatable, Sendable {
    /// Its name, with the dashes.
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
