import HeadgateData

/// The manual page headgate(1), made from the command table like the help.
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

    /// Text in which nothing is taken for a request: hyphens stay hyphens, and no line begins with a dot.
    private static func escaped(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let escaped = line.reduce(into: "") { $0 += ["\\": "\\e", "-": "\\-"][$1] ?? String($1) }
            return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
        }
        return lines.joined(separator: "\n")
    }
}
