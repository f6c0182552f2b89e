/// `headgate completions fish`.
enum FishCompletions {
    static var script: String {
        let first = CommandTable.firstWordsWithSummaries.map {
            line("__fish_use_subcommand", "-a \($0.word)", $0.summary)
        }
        let before = Option.beforeCommand.map { line("__fish_use_subcommand", option($0), $0.summary) }
        return """
            # Completions of headgate for fish, made by `headgate completions fish`.

            function __headgate_dispatchers
                headgate dispatchers --json 2>/dev/null | grep -o '"id":"[^"]*"' | cut -d '"' -f 4
            end

            complete -c headgate -f
            \((first + before + CommandTable.all.flatMap(lines(about:))).joined(separator: "\n"))

            """
    }

    private static func lines(about command: Command) -> [String] {
        let words = command.name.split(separator: " ").map(String.init)
        let isNamed = words.map { "__fish_seen_subcommand_from \($0)" }.joined(separator: "; and ")
        var lines = command.optionsWithThoseOfAll.map { line(isNamed, option($0), $0.summary) }
        if words.count == 2 {
            let family = CommandTable.family(words[0]).map { $0.name.dropFirst(words[0].count + 1) }
            let isOpen = "\(words[0]); and not __fish_seen_subcommand_from \(family.joined(separator: " "))"
            lines.append(line("__fish_seen_subcommand_from \(isOpen)", "-a \(words[1])", command.summary))
        }
        if command.candidates != .nothing { lines.append(line(isNamed, list(command.candidates), "")) }
        return lines
    }

    private static func option(_ option: Option) -> String {
        let name = "-l \(option.name.dropFirst(2))"
        guard let value = option.value else { return name }
        return "\(name) -r \(list(Candidates(for: value)))"
    }

    private static func list(_ candidates: Candidates) -> String {
        switch candidates {
        case .nothing: ""
        case .files: "-F"
        case .dispatchers: "-a '(__headgate_dispatchers)'"
        case .words(let words): "-a '\(words.joined(separator: " "))'"
        }
    }

    private static func line(_ condition: String, _ what: String, _ summary: String) -> String {
        let text = summary.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "\\'")
        return "complete -c headgate -n '\(condition)' \(what)" + (text.isEmpty ? "" : " -d '\(text)'")
    }
}
