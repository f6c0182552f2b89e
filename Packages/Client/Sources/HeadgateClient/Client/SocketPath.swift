import Glibc

/// The usual path of the daemon's socket (Protocol, Socket; `Docs/Decisions/0010`).
public enum SocketPath {
    /// The usual path in the process's environment: `$HEADGATE_SOCKET`, else
    /// `$XDG_RUNTIME_DIR/headgate/headgate.sock`, else `/run/headgate/headgate.sock`.
    public static var `default`: String {
        Self.default({ name in getenv(name).map { String(cString: $0) } }, isThere: { access($0, F_OK) == 0 })
    }

    /// Returns the usual path for other variables and folders. An empty variable counts as unset, and so does a
    /// relative `XDG_RUNTIME_DIR` (XDG Base Directory Specification). A user with that variable and without a daemon
    /// of their own gets the machine's daemon.
    /// - Parameters:
    ///   - variable: returns the value of an environment variable.
    ///   - isThere: returns true if there is a folder of this path.
    public static func `default`(_ variable: (String) -> String?, isThere: (String) -> Bool) -> String {
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
