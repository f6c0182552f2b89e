/// The script of `headgate completions zsh`.
enum ZshCompletions {
    static var script: String {
        let values = CommandTable.optionsWithValues
        let families = Set(CommandTable.firstWords).filter { !CommandTable.family($0).isEmpty }.sorted()
        return """
            #compdef headgate
            # Completions of headgate for zsh, made by `headgate completions zsh`.

            _headgate_dispatchers() {
                local -a ids=("${(@f)$(headgate $socket dispatchers --json 2>/dev/null |
                    grep -oE '"id":"[A-Za-z0-9_.-]+"' | cut -d '"' -f 4)}")
                compadd -a ids
            }

            _headgate() {
                local -a socket named options first
                local index
                for ((index = 2; index < CURRENT; index++)); do
                    case $words[index] in
                        --socket) socket=(--socket $words[++index]) ;;
                        \(values.filter { $0 != .socket }.map(\.name).joined(separator: "|"))) ((++index)) ;;
                        -*) ;;
                        *) named+=($words[index]) ;;
                    esac
                done
                case $words[CURRENT-1] in
            \(values.map { "        \($0.name)) \(add(Candidates(for: $0.value ?? ""))); return ;;\n" }.joined())    esac
                if [[ $PREFIX == -* ]]; then
                    case "$named[1] $named[2]" in
            \(CommandTable.all.map(options(of:)).joined())            *) options=(\(described(Option.beforeCommand))) ;;
                    esac
                    _describe option options
                    return
                fi
                case "$named[1] $named[2]" in
                    ' ')
                        first=(\(described(CommandTable.firstWordsWithSummaries)))
                        _describe command first
                        ;;
            \(families.map(seconds(of:)).joined())\(CommandTable.all.map(operands(of:)).joined())    esac
            }

            _headgate "$@"

            """
    }

    private static func pattern(_ command: Command) -> String {
        command.name.contains(" ") ? "'\(command.name)'" : "'\(command.name) '*"
    }

    private static func options(of command: Command) -> String {
        "            \(pattern(command))) options=(\(described(command.optionsWithThoseOfAll))) ;;\n"
    }

    private static func operands(of command: Command) -> String {
        "        \(pattern(command))) \(add(command.candidates)) ;;\n"
    }

    private static func seconds(of word: String) -> String {
        let commands = CommandTable.family(word).map { (String($0.name.dropFirst(word.count + 1)), $0.summary) }
        return """
                    '\(word) ')
                        first=(\(described(commands)))
                        _describe command first
                        ;;

            """
    }

    private static func add(_ candidates: Candidates) -> String {
        switch candidates {
        case .nothing: ":"
        case .files: "_files"
        case .dispatchers: "_headgate_dispatchers"
        case .words(let words): "compadd \(words.joined(separator: " "))"
        }
    }

    private static func described(_ options: [Option]) -> String {
        described(options.map { ($0.name, $0.summary) })
    }

    /// Returns the argument of `_describe`: words in quotes, each with a colon and a summary.
    private static func described(_ entries: [(word: String, summary: String)]) -> String {
        entries.map { entry in
            let summary = entry.summary.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "’")
            return "'\(entry.word):\(summary)'"
        }.joined(separator: " ")
    }
}
