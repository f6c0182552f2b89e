import Glibc

/// Where the daemon's socket is when nobody says it (Protocol, Socket; `Docs/Decisions/0010`).
public enum SocketPlace {
    /// The usual path, by the process's environment: `$HEADGATE_SOCKET`, else
    /// `$XDG_RUNTIME_DIR/headgate/headgate.sock`, else `/run/headgate/headgate.sock`.
    public static var usual: String {
        usual({ name in getenv(name).map { String(cString: $0) } }, isThere: { access($0, F_OK) == 0 })
    }

    /// The same by other variables and folders. An empty variable counts as not set, and so does a relative
    /// `XDG_RUNTIME_DIR` (the XDG Base Directory Specification has it so). A user who has that variable, but no daemon
    /// of their own, means the machine's.
    /// - Parameters:
    ///   - variable: the value of an environment variable.
    ///   - isThere: whether there is a folder of this path.
    public static func usual(_ variable: (String) -> String?, isThere: (String) -> Bool) -> String {
        if let path = variable("HEADGATE_SOCKET"), !path.isEmpty { return path }
        let machine = "/run/headgate"
        guard let directory = variable("XDG_RUNTIME_DIR"), directory.hasPrefix("/") else { return socket(in: machine) }
        let own = directory + "/headgate"
        return socket(in: isThere(machine) && !isThere(own) ? machine : own)
    }

    private static func socket(in folder: String) -> String {
        folder + "/headgate.sock"
    }
}
