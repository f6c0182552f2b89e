/// Which version of Headgate this is: the same for the daemon, the client and the tool.
public enum Version {
    public static let current = "0.2.0"

    /// What a program says of itself: `headgate 0.2.0 (4b825dc642cb6eb9a060e54bf8d69288fbee4904)`.
    /// - Parameter commit: which the program is built from; with `-changed` where files differed from it. Nil where that is not known.
    public static func line(of program: String, builtFrom commit: String?) -> String {
        "\(program) \(current)" + (commit.map { " (\($0))" } ?? "")
    }
}
