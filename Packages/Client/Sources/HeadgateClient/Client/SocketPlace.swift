import Glibc

/// Where the daemon's socket is when nobody says it (Protocol, Socket).
public enum SocketPlace {
    /// `$HEADGATE_SOCKET`, else `$XDG_RUNTIME_DIR/headgate/headgate.sock`, else `/run/headgate/headgate.sock`, by the
    /// process's environment.
    public static var usual: String {
        usual { name in getenv(name).map { String(cString: $0) } }
    }

    /// The same by other variables. An empty one counts as not set, and so does a relative `XDG_RUNTIME_DIR` (the XDG
    /// Base Directory Specification has it so).
    public static func usual(_ variable: (String) -> String?) -> String {
        if let path = variable("HEADGATE_SOCKET"), !path.isEmpty { return path }
        let directory = variable("XDG_RUNTIME_DIR").flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (directory ?? "/run") + "/headgate/headgate.sock"
    }
}
