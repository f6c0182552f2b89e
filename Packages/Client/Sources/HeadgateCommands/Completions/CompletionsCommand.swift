import HeadgateClient

extension Command {
    /// The command `headgate completions`.
    static let completions = Command(
        name: "completions", summary: "Print a completion script for a shell.",
        operands: [Operand("SHELL")],
        notes: """
            Shells: bash, zsh, fish. For this session: `source <(headgate completions bash)`. Permanently: save it in
            the shell's completion directory, like ~/.local/share/bash-completion/completions/headgate.
            """
    ) { invocation in
        let name = invocation.arguments.operands[0]
        guard let shell = Shell(rawValue: name) else {
            let hint = SpellingSuggestion.hint(for: name, among: Shell.allCases.map(\.rawValue))
            throw UsageError(message: "completions: unknown shell \(name)\(hint)", command: "completions")
        }
        try invocation.terminal.write(shell.completions)
        return .success
    }
}

/// The candidates that a shell can offer for an operand or for the value of an option.
enum Candidates: Equatable {
    case nothing
    case files
    /// The IDs of the daemon's dispatchers at that time.
    case dispatchers
    case words([String])

    /// - Parameter placeholder: the name in the help, like `ID`.
    init(for placeholder: String) {
        self =
            switch placeholder {
            case "ID": .dispatchers
            case "FILE", "PATH": .files
            case "TOPIC": .words(WatchTopic.allCases.map(\.rawValue))
            case "LAYER": .words(["file", "remote", "programmatic"])
            case "SHELL": .words(Shell.allCases.map(\.rawValue))
            default: .nothing
            }
    }
}

/// The shells with completions.
enum Shell: String, CaseIterable {
    case bash, zsh, fish

    /// A script that completes the arguments of `headgate`, made from the command table.
    var completions: String {
        switch self {
        case .bash: BashCompletions.script
        case .zsh: ZshCompletions.script
        case .fish: FishCompletions.script
        }
    }
}

extension CommandTable {
    /// The first words of commands, each once, with a summary.
    static var firstWordsWithSummaries: [(word: String, summary: String)] {
        var seen: Set<String> = []
        return firstWords.filter { seen.insert($0).inserted }.map { word in
            let family = family(word).map { String($0.name.dropFirst(word.count + 1)) }
            return (word, command(word)?.summary ?? family.joined(separator: ", "))
        }
    }

    /// All options that have a value.
    static var optionsWithValues: [Option] {
        var seen: Set<String> = []
        return (Option.everywhere + all.flatMap(\.options)).filter { $0.value != nil && seen.insert($0.name).inserted }
    }
}

extension Command {
    /// The candidates for the command's operands: those of the first operand that has any.
    var candidates: Candidates {
        operands.map { Candidates(for: $0.name) }.first { $0 != .nothing } ?? .nothing
    }

    var optionsWithThoseOfAll: [Option] { options + Option.everywhere }
}
