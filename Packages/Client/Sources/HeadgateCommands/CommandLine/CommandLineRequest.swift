/// What a command line asks for.
enum CommandLineRequest: Sendable {
    /// To explain the tool, or, with a command's name or first word, that.
    case help(String)
    /// To print the manual page, for packages.
    case manual
    /// To tell the version.
    case version
    /// To run a command.
    case run(Command, Arguments)
}
