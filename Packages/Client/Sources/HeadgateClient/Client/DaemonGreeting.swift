import HeadgateData

/// What the daemon says of itself when it is greeted (Protocol, `hello`).
public struct DaemonGreeting: Sendable, Equatable {
    /// The service's name.
    public let name: String
    /// Its version.
    public let version: String
    /// Its process; nil when it did not say.
    public let pid: Int?
    /// The protocol's version.
    public let protocolVersion: Int
    /// The daemon's name for this connection, by which lists show it.
    public let session: String
    /// What it takes at most, by the names of the settings (`max_line_bytes` …).
    public let limits: DataObject

    /// Reads the result of `hello`. What is missing is taken for empty.
    public init(_ result: DataObject) {
        let server = result.get(key: "server", as: DataObject.self) ?? [:]
        name = server.get(key: "name") ?? ""
        version = server.get(key: "version") ?? ""
        pid = server.get(key: "pid")
        protocolVersion = result.get(key: "protocol") ?? 1
        session = result.get(key: "session") ?? ""
        limits = result.get(key: "limits") ?? [:]
    }
}
