/// The script of `headgate completions fish`.
enum FishCompletions {
    static var script: String {
        let first = CommandTable.firstWordsWithSummaries.map { line(.after(""), "-a \($0.word)", $0.summary) }
        let before = Option.beforeCommand.map { line(.after(""), option($0), $0.summary) }
        return """
            # Completions of headgate for fish, made by `headgate completions fish`.

            \(functions)
            complete -c headgate -f
            \((first + before + CommandTable.all.flatMap(lines(about:))).joined(separator: "\n"))

            """
    }

    /// The functions that the conditions call. fish's own ones would take an option's value for a command.
    private static var functions: String {
        """
        # The words so far that are neither options nor values of options.
        function __headgate_words
            set -l line (commandline -opc)
            set -e line[1]
            set -l is_value false
            for word in $line
                if $is_value
                    set is_value false
                    continue
                end
                switch $word
                    case \(CommandTable.optionsWithValues.map(\.name).joined(separator: " "))
                        set is_value true
                    case '-*'
                    case '*'
                        echo $word
                end
            end
        end

        function __headgate_after
            set -l words (__headgate_words)
            test "$words" = "$argv"
        end

        function __headgate_in
            set -l words (__headgate_words)
            test (count $words) -ge (count $argv); or return
            set words $words[1..(count $argv)]
            test "$words" = "$argv"
        end

        function __headgate_dispatchers
            set -l words (commandline -opc)
            set -l socket
            if set -l place (contains -i -- --socket $words)
                set socket $words[$place..(math $place + 1)]
            end
            headgate $socket dispatchers --json 2>/dev/null | grep -oE '"id":"[A-Za-z0-9_.-]+"' | cut -d '"' -f 4
        end

        """
    }

    /// The condition under which a line of the script applies.
    private enum Condition {
        /// The words so far are exactly these.
        case after(String)
        /// The words so far begin with these.
        case `in`(String)

        var text: String {
            switch self {
            case .after(let words): words.isEmpty ? "__headgate_after" : "__headgate_after \(words)"
            case .in(let words): "__headgate_in \(words)"
            }
        }
    }

    private static func lines(about command: Command) -> [String] {
        let words = command.name.split(separator: " ").map(String.init)
        var lines = command.optionsWithThoseOfAll.map { line(.in(command.name), option($0), $0.summary) }
        if words.count == 2 { lines.append(line(.after(words[0]), "-a \(words[1])", command.summary)) }
        if command.candidates != .nothing { lines.append(line(.in(command.name), list(command.candidates), "")) }
        return lines
    }

    private static func option(_ option: Option) -> String {
        let name = "-l \(option.name.dropFirst(2))"
        guard let value = option.value else { return name }
        let candidates = Candidates(for: value)
        // Without -x fish would offer files, too.
        let isRequired = candidates == .files ? "-r" : "-x"
        return candidates == .nothing ? "\(name) \(isRequired)" : "\(name) \(isRequired) \(list(candidates))"
    }

    private static func list(_ candidates: Candidates) -> String {
        switch candidates {
        case .nothing: ""
        case .files: "-F"
        case .dispatchers: "-a '(__headgate_dispatchers)'"
        case .words(let words): "-a '\(words.joined(separator: " "))'"
        }
    }

    private static func line(_ condition: Condition, _ what: String, _ summary: String) -> String {
        let text = summary.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "\\'")
        return "complete -c headgate -n '\(condition.text)' \(what)" + (text.isEmpty ? "" : " -d '\(text)'")
    }
}
