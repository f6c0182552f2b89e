import Glibc
import HeadgateData
import HeadgateTransport

/// The paths of the daemon's socket and data.
public struct DaemonPaths: Equatable, Sendable {
    /// The socket's path, or nil if the server opens no socket.
    public var socket: String?
    /// The path of the data directory.
    public var dataDirectory: String

    public init(socket: String?, dataDirectory: String) {
        self.socket = socket
        self.dataDirectory = dataDirectory
    }

    /// Finds both paths. Throws if there is no path for the data.
    ///
    /// The socket: `--socket`, else `$HEADGATE_SOCKET`, else the configuration's `socket`, else
    /// `$XDG_RUNTIME_DIR/headgate/headgate.sock`, else `/run/headgate/headgate.sock`. The variable overrides the
    /// configuration, because clients read the variable and not the configuration.
    ///
    /// The data: `--data`, else the configuration's `data_dir`, else `$STATE_DIRECTORY`, else
    /// `$XDG_STATE_HOME/headgate`, else `$HOME/.local/state/headgate`, else, for root, `/var/lib/headgate`.
    ///
    /// An empty variable counts as not set. So does an `XDG_` variable or `HOME` with a relative path, as the XDG Base
    /// Directory Specification requires.
    /// - Parameter settings: the layers of the file and the program. Other settings in them may be wrong: the data
    ///   directory has to be known before the other layers can be read.
    public static func find(
        options: DaemonOptions, settings: DataObject, environment: [String: String], userID: UInt32
    ) throws(SettingsFault) -> DaemonPaths {
        let variables = Variables(values: environment)
        let data =
            options.dataDirectory ?? settings.get(key: "data_dir") ?? variables.dataDirectory(userID: userID)
        guard let data else {
            throw SettingsFault(path: "data_dir", message: "is required if neither HOME nor STATE_DIRECTORY is set")
        }
        let socket = options.socket ?? variables["HEADGATE_SOCKET"] ?? settings.get(key: "socket")
        return DaemonPaths(socket: socket ?? variables.socket, dataDirectory: data)
    }

    /// The faults and warnings of the paths themselves.
    var findings: SettingsFindings {
        var findings = SettingsFindings()
        if let message = socket.flatMap(DaemonPaths.socketFault) {
            findings.faults.append(SettingsFault(path: "socket", message: message))
        }
        switch ExistingPath(dataDirectory).state {
        case .notDirectory(let path):
            let message = "\(dataDirectory) cannot be the data directory: \(path) is not a directory"
            findings.faults.append(SettingsFault(path: "data_dir", message: message))
        case .notWritable(let path):
            // Only a warning: `--check` may run as another user than the daemon.
            let message = "cannot be written by this user: \(path)"
            findings.warnings.append(SettingsFault(path: "data_dir", message: message))
        case .usable: break
        }
        return findings
    }

    /// Returns why no socket can be made at a path, or nil if one can.
    private static func socketFault(_ path: String) -> String? {
        guard path.utf8.count <= UnixAddress.longestPath else {
            return "the path \(path) has more than \(UnixAddress.longestPath) bytes"
        }
        var status = stat()
        if lstat(path, &status) == 0 {
            return status.st_mode & S_IFMT == S_IFSOCK ? nil : "\(path) exists and is not a socket"
        }
        guard let end = path.lastIndex(of: "/"), end != path.startIndex,
            case .notDirectory(let file) = ExistingPath(String(path[..<end])).state
        else { return nil }
        return "cannot be \(path): \(file) is not a directory"
    }
}

/// The state of a path as a directory: that of the path itself, or of the nearest directory above it that exists.
private struct ExistingPath {
    enum State {
        case usable
        case notDirectory(String)
        case notWritable(String)
    }

    let state: State

    init(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let end = path.lastIndex(of: "/")
            // A missing entry is decided by the directory above it.
            switch end {
            case nil: state = errno == ENOENT ? .usable : .notWritable(path)
            case path.startIndex?: state = .usable
            case let end?: state = ExistingPath(String(path[..<end])).state
            }
            return
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            state = .notDirectory(path)
            return
        }
        state = access(path, W_OK | X_OK) == 0 ? .usable : .notWritable(path)
    }
}

/// The environment variables that name paths.
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
        // systemd separates several directories with colons.
        if let first = self["STATE_DIRECTORY"]?.split(separator: ":").first { return String(first) }
        if let home = directory("XDG_STATE_HOME") { return home + "/headgate" }
        if let home = directory("HOME") { return home + "/.local/state/headgate" }
        return userID == 0 ? "/var/lib/headgate" : nil
    }
}
