/// A command line that makes no sense.
struct UsageError: Error, Equatable {
    /// What is wrong with it, for people.
    let message: String
    /// Where to read more: the command's name, or empty for the tool's own help.
    var command = ""
}
