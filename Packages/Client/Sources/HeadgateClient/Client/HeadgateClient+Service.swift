import HeadgateData

/// The daemon itself.
extension HeadgateClient {
    /// Asks the daemon for an answer and nothing else.
    public func ping(deadline: Duration? = nil) async throws {
        _ = try await object("ping", [:], deadline)
    }

    /// What the daemon said of itself when this connection was made; makes one if there is none.
    public func greeting(deadline: Duration? = nil) async throws -> DaemonGreeting {
        try await ping(deadline: deadline)
        guard let greeting = connection.greeting else { throw ClientError.disconnected }
        return DaemonGreeting(greeting)
    }

    /// The protocol as the daemon describes it: an OpenRPC document (Protocol, `rpc.discover`).
    public func discover(deadline: Duration? = nil) async throws -> DataObject {
        try await object("rpc.discover", [:], deadline)
    }

    /// Announces where the program is, and waits until the daemon knows (Behaviour B26, F5). Each announcement may start a
    /// flush. It is announced again on each connection, but for ``ApplicationStatus/exiting``.
    public func announce(_ status: ApplicationStatus, deadline: Duration? = nil) async throws {
        try await begin { $0.announce($1, status, deadline: deadline, $2) }
    }
}
