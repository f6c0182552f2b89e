/// The version of Headgate. The daemon, the client and the tool have the same version.
public enum Version {
    public static let current = "0.2.0"

    /// Returns the version line of a program: `headgate 0.2.0 (4b825dc642cb6eb9a060e54bf8d69288fbee4904)`.
    /// - Parameters:
    ///   - program: the name of the program.
    ///   - commit: the commit that the program was built from, with `-changed` if files differed from it; nil if it is
    ///     unknown.
    public static func line(of program: String, builtFrom commit: String?) -> String {
        "\(program) \(current)" + (commit.map { " (\($0))" } ?? "")
    }
}
