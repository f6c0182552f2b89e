import Glibc

/// The daemon's program, `headgated`.
enum DaemonProgram {
    static let name = "headgated"

    /// Becomes the daemon's program with these arguments: its output and its exit code are then this process's.
    /// Returns only to say why that is not possible.
    static func become(_ arguments: [String]) -> Failure {
        guard let path = find() else { return .notFound }
        // What is ignored stays so in the new program.
        signal(SIGPIPE, SIG_DFL)
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        execv(path, &words)
        let code = errno
        for word in words { free(word) }
        return .cannotRun(path: path, code: code)
    }

    /// Why the daemon's program does not run.
    enum Failure: Error, Equatable, CustomStringConvertible {
        /// It is nowhere.
        case notFound
        /// It is there and does not run.
        case cannotRun(path: String, code: Int32)

        var description: String {
            switch self {
            case .notFound: "there is no \(DaemonProgram.name), neither beside headgate nor in $PATH"
            case .cannotRun(let path, let code): "cannot run \(path): \(String(cString: strerror(code)))"
            }
        }
    }

    /// Where it may be: beside this program, then in the directories of `searchPath`.
    static func candidates(beside executable: String?, searchPath: String?) -> [String] {
        let own = executable.flatMap { path in path.lastIndex(of: "/").map { String(path[..<$0]) } }
        let others = (searchPath ?? "").split(separator: ":").map(String.init)
        return ([own].compactMap { $0 } + others).map { "\($0)/\(name)" }
    }

    private static func find() -> String? {
        candidates(beside: executable, searchPath: getenv("PATH").map { String(cString: $0) })
            .first { access($0, X_OK) == 0 }
    }

    /// The path of this process's program; nil if the kernel does not tell.
    private static var executable: String? {
        guard let path = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }
}
