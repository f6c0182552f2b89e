/// One command of the tool. Its help is made from this.
struct Command: Sendable {
    /// Its name, which may be of two words: `config get`.
    let name: String
    /// What it does, in one line.
    let summary: String
    /// What it is given.
    var operands: [Operand] = []
    /// Its options, without those that every command has.
    var options: [Option] = []
    /// What more there is to know, for people.
    var notes = ""
    /// Does it.
    let run: @Sendable (Invocation) throws -> ExitCode
}

/// How the tool ends (Protocol, The command line tool).
enum ExitCode: Int32, Sendable {
    /// All is well.
    case success = 0
    /// The daemon refused, or something failed.
    case failure = 1
    /// The command line makes no sense.
    case usage = 2
    /// There is no connection to the daemon.
    case cannotConnect = 3
}
