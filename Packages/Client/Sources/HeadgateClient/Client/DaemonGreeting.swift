import HeadgateData
import HeadgateWire

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

/// The limits that the daemon reports in its answer to the greeting.
///
/// The daemon answers a line beyond its limits without the request's id, so no caller would get that answer. The
/// client checks the limits before it writes.
struct DaemonLimits: Equatable {
    /// The longest line in bytes, without its end.
    var lineBytes = 1_048_576
    /// The greatest depth of a message.
    var depth = 64

    init() {}

    /// Reads the `limits` of the answer to `hello`. Missing members have their defaults.
    init(greeting: JSONView) {
        guard let limits = greeting.member("limits") else { return }
        lineBytes = limits.member("max_line_bytes")?.int.flatMap(Int.init(exactly:)) ?? lineBytes
        depth = limits.member("max_depth")?.int.flatMap(Int.init(exactly:)) ?? depth
    }

    /// Returns the error of a request beyond the limits, or nil if it may be written.
    func fault(of call: OutgoingCall) -> RPCError? {
        guard call.longestLine <= lineBytes else {
            return RPCError(.lineTooLong, "the message is longer than the \(lineBytes) bytes that the daemon accepts")
        }
        guard call.depth <= depth else {
            return RPCError(
                .limit, "nested deeper than the \(depth) levels that the daemon accepts",
                data: ["max_depth": .number(DataNumber(depth))])
        }
        return nil
    }
}
