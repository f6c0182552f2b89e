/// All commands, in the order in which the help shows them.
enum CommandTable {
    static let all: [Command] = [
        .send, .status, .watch, .flush, .barriers, .dispatchers, .pause, .resume, .worker, .peek,
        .deadLettersList, .deadLettersRequeue, .deadLettersPurge, .activate, .configGet, .configSet, .configReload,
        .configCheck, .completions,
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
