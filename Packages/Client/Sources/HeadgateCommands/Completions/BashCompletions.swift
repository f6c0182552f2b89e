/// The script of `headgate completions bash`.
enum BashCompletions {
    static var script: String {
        let commands = CommandTable.all.map(offer(of:)).joined()
        let families = CommandTable.firstWords.filter { !CommandTable.family($0).isEmpty }
        let values = CommandTable.optionsWithValues
        return """
            # Completions of headgate for bash, made by `headgate completions bash`.

            _headgate_dispatchers() {
                headgate "$@" dispatchers --json 2>/dev/null | grep -oE '"id":"[A-Za-z0-9_.-]+"' | cut -d '"' -f 4
            }

            # Offers the dispatchers that begin with a word. compgen -W would evaluate what the daemon answers.
            _headgate_offer_dispatchers() {
                local word=$1 id
                shift
                while IFS= read -r id; do
                    [[ $id != "$word"* ]] || COMPREPLY+=("$id")
                done < <(_headgate_dispatchers "$@")
            }

            _headgate() {
                local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
                # bash takes --socket=/x apart into three words.
                [[ $previous != = ]] || previous=${COMP_WORDS[COMP_CWORD - 2]}
                [[ $word != = ]] || word=''
                local -a socket=() named=()
                local index option options='--socket --help --version' offer=''
                for ((index = 1; index < COMP_CWORD; index++)); do
                    case ${COMP_WORDS[index]} in
                        --socket | \(values.filter { $0 != .socket }.map(\.name).joined(separator: " | ")))
                            option=${COMP_WORDS[index]}
                            [[ ${COMP_WORDS[index + 1]-} != = ]] || ((++index))
                            [[ $option != --socket ]] || socket=(--socket "${COMP_WORDS[index + 1]-}")
                            ((++index))
                            ;;
                        -*) ;;
                        *) named+=("${COMP_WORDS[index]}") ;;
                    esac
                done
                COMPREPLY=()
                case $previous in
            \(values.map(offer(ofValue:)).joined())    esac
                case "${named[0]-} ${named[1]-}" in
                    ' ') offer='\(CommandTable.firstWordsWithSummaries.map(\.word).joined(separator: " "))' ;;
            \(Set(families).sorted().map(offer(ofFamily:)).joined())\(commands)    esac
                [[ $word != -* ]] || offer=$options
                case $offer in
                    @files) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
                    @dispatchers)
                        _headgate_offer_dispatchers "$word" "${socket[@]}"
                        ;;
                    *) mapfile -t COMPREPLY < <(compgen -W "$offer" -- "$word") ;;
                esac
            }

            complete -o filenames -F _headgate headgate

            """
    }

    private static func offer(of command: Command) -> String {
        let options = command.optionsWithThoseOfAll.map(\.name).joined(separator: " ")
        let pattern = command.name.contains(" ") ? "'\(command.name)'" : "'\(command.name) '*"
        return "        \(pattern)) options='\(options)' offer='\(word(for: command.candidates))' ;;\n"
    }

    private static func offer(ofFamily word: String) -> String {
        let seconds = CommandTable.family(word).map { $0.name.dropFirst(word.count + 1) }
        return "        '\(word) ') offer='\(seconds.joined(separator: " "))' ;;\n"
    }

    private static func offer(ofValue option: Option) -> String {
        let candidates = Candidates(for: option.value ?? "")
        let list =
            switch candidates {
            case .nothing: "return"
            case .files: "mapfile -t COMPREPLY < <(compgen -f -- \"$word\") && return"
            case .dispatchers:
                "_headgate_offer_dispatchers \"$word\" \"${socket[@]}\" && return"
            case .words(let words):
                "mapfile -t COMPREPLY < <(compgen -W '\(words.joined(separator: " "))' -- \"$word\") && return"
            }
        return "        \(option.name)) \(list) ;;\n"
    }

    private static func word(for candidates: Candidates) -> String {
        switch candidates {
        case .nothing: ""
        case .files: "@files"
        case .dispatchers: "@dispatchers"
        case .words(let words): words.joined(separator: " ")
        }
    }
}
