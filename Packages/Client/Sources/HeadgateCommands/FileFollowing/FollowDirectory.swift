import Glibc

/// The directory in which a follower keeps its positions. It belongs to the follower: the directory of the followed file
/// may belong to an application, which could put links there (Behaviour X8).
struct FollowDirectory {
    /// The environment variables that name directories.
    let environment: [String: String]
    let userID: UInt32

    /// Returns the path of the state of a followed file, or nil if no directory is known.
    ///
    /// The directory is `$STATE_DIRECTORY`, else `$XDG_STATE_HOME/headgate/follow`, else
    /// `$HOME/.local/state/headgate/follow`, else, for root, `/var/lib/headgate-follow`.
    /// - Parameter file: the absolute path of the followed file.
    func state(of file: String) -> String? {
        directory.map { "\($0)/\(FollowDirectory.name(of: file))" }
    }

    private var directory: String? {
        if let first = environment["STATE_DIRECTORY"]?.split(separator: ":").first { return String(first) }
        if let home = absolute("XDG_STATE_HOME") { return home + "/headgate/follow" }
        if let home = absolute("HOME") { return home + "/.local/state/headgate/follow" }
        return userID == 0 ? "/var/lib/headgate-follow" : nil
    }

    /// Returns the path of the state of a followed file by this process's environment, and makes its directory.
    static func defaultState(of file: String) throws(FollowFault) -> String {
        var environment: [String: String] = [:]
        for name in ["STATE_DIRECTORY", "XDG_STATE_HOME", "HOME"] {
            environment[name] = getenv(name).map { String(cString: $0) }
        }
        guard let state = FollowDirectory(environment: environment, userID: geteuid()).state(of: file) else {
            throw FollowFault("give --state: neither STATE_DIRECTORY nor HOME is set")
        }
        try make(for: state)
        return state
    }

    /// Returns a path as an absolute path.
    static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let own = getcwd(nil, 0) else { return path }
        defer { free(own) }
        return String(cString: own) + "/" + path
    }

    private func absolute(_ name: String) -> String? {
        environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Returns a file name that no other path has: every `/` and `%` is written as in a URL. A name that would be too
    /// long for a file system ends in a hash of the path.
    static func name(of file: String) -> String {
        var name = ""
        for scalar in file.unicodeScalars.drop(while: { $0 == "/" }) {
            switch scalar {
            case "/": name += "%2F"
            case "%": name += "%25"
            default: name.unicodeScalars.append(scalar)
            }
        }
        guard name.utf8.count > longest else { return name }
        var end = name.startIndex
        while name[...end].utf8.count <= longest - hashLength { end = name.index(after: end) }
        return "\(name[..<end])-\(hash(file))"
    }

    /// The most bytes of a name, to which the endings of other files are added.
    private static let longest = 200
    private static let hashLength = 17

    /// FNV-1a with 64 bits. The name of a file has to be the same in every run.
    private static func hash(_ text: String) -> String {
        let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Makes the directory of a path, with mode 0700, and the directories above it.
    static func make(for path: String) throws(FollowFault) {
        guard let end = path.lastIndex(of: "/"), end > path.startIndex else { return }
        let directory = String(path[..<end])
        var status = stat()
        if stat(directory, &status) == 0 { return }
        try make(for: directory)
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else { throw FollowFault("make", directory) }
    }
}
