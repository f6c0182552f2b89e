import HeadgateData

/// The daemon's answer to the greeting (Protocol, `hello`).
public struct DaemonGreeting: Sendable, Equatable {
    /// The service's name.
    public let name: String
    /// The service's version.
    public let version: String
    /// The daemon's process id; nil if it reported none.
    public let pid: Int?
    /// The version of the protocol.
    public let protocolVersion: Int
    /// The daemon's name for this connection in lists.
    public let session: String
    /// The daemon's limits, by the names of the settings (`max_line_bytes` …).
    public let limits: DataObject

    /// Reads the result of `hello`. Missing members are empty.
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

extension HeadgateClient {
    /// Returns the daemon's answer to the greeting of this connection. Connects if there is no connection.
    public func greeting(deadline: Duration? = nil) async throws -> DaemonGreeting {
        try await ping(deadline: deadline)
        guard let greeting = connection.greeting else { throw ClientError.disconnected }
        return DaemonGreeting(greeting)
    }
}
