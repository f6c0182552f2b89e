import HeadgateData

/// Where the daemon listens and keeps its data.
public struct Places: Equatable, Sendable {
    /// The socket's path; nil where the server opens no socket.
    public var socket: String?
    /// The directory of the data.
    public var dataDirectory: String

    public init(socket: String?, dataDirectory: String) {
        self.socket = socket
        self.dataDirectory = dataDirectory
    }

    /// Finds both places; throws when there is none for the data.
    ///
    /// The socket: `--socket`, else `$HEADGATE_SOCKET`, else the configuration's `socket`, else
    /// `$XDG_RUNTIME_DIR/headgate/headgate.sock`, else `/run/headgate/headgate.sock`. The variable comes before the
    /// configuration because clients follow it, and do not read the configuration.
    ///
    /// The data: `--data`, else the configuration's `data_dir`, else `$STATE_DIRECTORY`, else `$XDG_STATE_HOME/headgate`,
    /// else `$HOME/.local/state/headgate`, else, for root, `/var/lib/headgate`.
    ///
    /// A variable that is empty counts as not set, and so does an `XDG_` variable or `HOME` with a relative path (the
    /// XDG Base Directory Specification has it so).
    public static func find(
        options: DaemonOptions, settings: Settings, environment: [String: String], userID: UInt32
    ) throws(SettingsFault) -> Places {
        let variables = Variables(values: environment)
        let data = options.dataDirectory ?? settings.dataDirectory ?? variables.dataDirectory(userID: userID)
        guard let data else {
            throw SettingsFault(path: "data_dir", message: "is required where neither HOME nor STATE_DIRECTORY is set")
        }
        let socket = options.socket ?? variables["HEADGATE_SOCKET"] ?? settings.socket
        return Places(socket: socket ?? variables.socket, dataDirectory: data)
    }
}

/// The environment, as far as it says where things are.
private struct Variables {
    let values: [String: String]

    subscript(name: String) -> String? {
        values[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    private func directory(_ name: String) -> String? {
        self[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    var socket: String {
        (directory("XDG_RUNTIME_DIR") ?? "/run") + "/headgate/headgate.sock"
    }

    func dataDirectory(userID: UInt32) -> String? {
        // systemd lists several directories with colons between them.
        if let first = self["STATE_DIRECTORY"]?.split(separator: ":").first { return String(first) }
        if let home = directory("XDG_STATE_HOME") { return home + "/headgate" }
        if let home = directory("HOME") { return home + "/.local/state/headgate" }
        return userID == 0 ? "/var/lib/headgate" : nil
    }
}
