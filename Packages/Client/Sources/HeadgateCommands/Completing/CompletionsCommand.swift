import HeadgateClient

extension Command {
    /// `headgate completions`.
    static let completions = Command(
        name: "completions", summary: "Print a script that teaches a shell to complete headgate's commands.",
        operands: [Operand("SHELL")],
        notes: """
            Shells: bash, zsh, fish. For this session: `source <(headgate completions bash)`. For good: put it where the
            shell looks, like ~/.local/share/bash-completion/completions/headgate.
            """
    ) { invocation in
        let name = invocation.arguments.operands[0]
        guard let shell = Shell(rawValue: name) else {
            let hint = NearestWord.hint(for: name, among: Shell.allCases.map(\.rawValue))
            throw UsageError(message: "completions: there are none for \(name)\(hint)", command: "completions")
        }
        try invocation.terminal.write(shell.completions)
        return .success
    }
}

/// What may stand in the place of an operand or of an option's value, as far as a shell can offer it.
enum Candidates: Equatable {
    case nothing
    case files
    /// The dispatchers that the daemon has now.
    case dispatchers
    case words([String])

    /// - Parameter placeholder: what the help calls it: `ID`.
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

/// The shells that there are completions for.
enum Shell: String, CaseIterable {
    case bash, zsh, fish

    /// A script that teaches the shell what may follow `headgate`, made from the command table.
    var completions: String {
        switch self {
        case .bash: BashCompletions.script
        case .zsh: ZshCompletions.script
        case .fish: FishCompletions.script
        }
    }
}

extension CommandTable {
    /// The first words of commands with what they are for, each once.
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
    /// What its operands may be: the first that a shell can offer something for.
    var candidates: Candidates {
        operands.map { Candidates(for: $0.name) }.first { $0 != .nothing } ?? .nothing
    }

    var optionsWithThoseOfAll: [Option] { options + Option.everywhere }
}
