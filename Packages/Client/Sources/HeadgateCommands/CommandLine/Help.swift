import HeadgateData

/// The help of the tool, made from the command table.
enum Help {
    /// Returns the help of a command, or of all commands with this first word, or of the tool for an empty text.
    static func text(about topic: String) throws(UsageError) -> String {
        if topic.isEmpty { return overview }
        if let command = CommandTable.command(topic) { return text(about: command) }
        let family = CommandTable.family(topic)
        guard !family.isEmpty else {
            let hint = SpellingSuggestion.hint(for: topic, among: CommandTable.firstWords)
            throw UsageError(message: "there is no command \(topic)\(hint)")
        }
        return family.map(text(about:)).joined(separator: "\n")
    }

    private static var overview: String {
        """
        usage: headgate [--socket PATH] COMMAND [ARGUMENTS]

        Speaks to headgated, which takes events from local programs and passes them on.

        commands
        \(listed(CommandTable.all.map { (usage(of: $0), $0.summary) }))
        options
        \(listed(Option.beforeCommand.map { ($0.usage, $0.summary) }))
        `headgate COMMAND --help` tells more. Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 cannot connect.

        """
    }

    private static func text(about command: Command) -> String {
        let options = command.options + Option.everywhere
        let notes = command.notes.isEmpty ? "" : "\n\(command.notes)\n"
        return """
            usage: headgate \(usage(of: command))

            \(command.summary)
            \(notes)
            options
            \(listed(options.map { ($0.usage, $0.summary) }))
            """
    }

    private static func usage(of command: Command) -> String {
        let operands = command.operands.map(\.usage)
        let named = command.options.filter { $0 != .json }.map { "[\($0.usage)]" }
        // More options would not fit the line. They are listed below it.
        let options = named.count > 5 ? ["[OPTION …]"] : named
        return ([command.name] + operands + options).joined(separator: " ")
    }

    /// The longest term with its summary in the same line. The summary of a longer term is in the next line.
    private static let longestTerm = 40

    private static func listed(_ entries: [(term: String, summary: String)]) -> String {
        let width = entries.map(\.term.count).filter { $0 <= longestTerm }.max() ?? 0
        return entries.map { entry in
            let room = width - entry.term.count
            let gap = room >= 0 ? spaces(room + 2) : "\n" + spaces(width + 4)
            return "  \(entry.term)\(gap)\(entry.summary)\n"
        }.joined()
    }

    private static func spaces(_ count: Int) -> String {
        String(repeating: " ", count: count)
    }
}

/// Finds the word that a user probably meant.
enum SpellingSuggestion {
    /// Returns the candidate with the fewest changes from `word`, or nil if none is near.
    static func to(_ word: String, among candidates: [String]) -> String? {
        let distances = candidates.map { (distance(word, $0), $0) }
        guard let (distance, nearest) = distances.min(by: { $0.0 < $1.0 }) else { return nil }
        return distance <= max(2, word.count / 2) ? nearest : nil
    }

    /// Returns `; did you mean X?`, or an empty text if no candidate is near.
    static func hint(for word: String, among candidates: [String]) -> String {
        to(word, among: candidates).map { "; did you mean \($0)?" } ?? ""
    }

    /// Returns the Levenshtein distance: the number of characters to insert, remove or replace.
    private static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var above = Array(0...right.count)
        for (row, character) in left.enumerated() {
            var current = [row + 1]
            for (column, other) in right.enumerated() {
                let replaced = above[column] + (character == other ? 0 : 1)
                current.append(min(replaced, above[column + 1] + 1, current[column] + 1))
            }
            above = current
        }
        return above[right.count]
    }
}

/// The manual page headgate(1), made from the command table.
enum ManualPage {
    static var text: String {
        """
        .\\" Written by Tools/manuals: the words are those of the commands' own help.
        .TH HEADGATE 1 "" "headgate \(Version.current)" "User commands"
        .SH NAME
        headgate \\- speak to headgated, which sees events to where they belong
        .SH SYNOPSIS
        .B headgate
        [\\fB\\-\\-socket\\fR \\fIPATH\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]
        .SH DESCRIPTION
        .B headgated
        takes events from local programs and passes them on; \\fBheadgate\\fR sends events from scripts, and shows and steers
        what the daemon does. \\fBheadgate\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR tells what is told here.
        .SH COMMANDS
        \(CommandTable.all.map(section).joined())\
        .SH OPTIONS
        These may stand before the command.
        \(items(Option.beforeCommand))\
        .SH EXIT STATUS
        0: done. 1: the daemon refused, or something failed. 2: the command line makes no sense. 3: there is no connection to the
        daemon.
        .SH ENVIRONMENT
        .TP
        .B HEADGATE_SOCKET
        the daemon's socket, unless \\fB\\-\\-socket\\fR names one. Without either it is
        .I $XDG_RUNTIME_DIR/headgate/headgate.sock
        where that folder is, else
        .IR /run/headgate/headgate.sock .
        .TP
        .B NO_COLOR
        no colours, also on a terminal.
        .SH SEE ALSO
        .BR headgated (8)

        """
    }

    private static func section(of command: Command) -> String {
        let operands = command.operands.map(\.usage)
        let options = command.options.map { "[\($0.usage)]" }
        return """
            .SS \(escaped(([command.name] + operands + options).joined(separator: " ")))
            \(escaped(command.summary))
            \(command.notes.isEmpty ? "" : ".PP\n\(escaped(command.notes))\n")\(items(command.options))
            """
    }

    private static func items(_ options: [Option]) -> String {
        options.map { ".TP\n\\fB\(escaped($0.name))\\fR \(escaped($0.value ?? ""))\n\(escaped($0.summary))\n" }.joined()
    }

    /// Returns the text with roff's special characters escaped: hyphens stay hyphens, and no line begins with a dot.
    private static func escaped(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let escaped = line.reduce(into: "") { $0 += ["\\": "\\e", "-": "\\-"][$1] ?? String($1) }
            return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
        }
        return lines.joined(separator: "\n")
    }
}
