import HeadgateData
import HeadgateWire

/// What the daemon says of itself when it is greeted (Protocol, `hello`).
public struct DaemonGreeting: Sendable, Equatable {
    /// The service's name.
    public let name: String
    /// The service's version.
    public let version: String
    /// The daemon's process; nil when it did not say.
    public let pid: Int?
    /// The version of the protocol that the daemon speaks.
    public let protocolVersion: Int
    /// The daemon's name for this connection, by which lists show it.
    public let session: String
    /// What the daemon takes at most, by the names of the settings (`max_line_bytes` …).
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

extension HeadgateClient {
    /// What the daemon said of itself when this connection was made; makes one if there is none.
    public func greeting(deadline: Duration? = nil) async throws -> DaemonGreeting {
        try await ping(deadline: deadline)
        guard let greeting = connection.greeting else { throw ClientError.disconnected }
        return DaemonGreeting(greeting)
    }
}

/// What the daemon takes at most; it says so when it is greeted.
///
/// It answers a line beyond these without the request's id, so that no caller would ever learn of it: they are kept
/// here.
struct DaemonLimits: Equatable {
    /// The longest line, its end not counted.
    var lineBytes = 1_048_576
    /// How deep a message may be nested.
    var depth = 64

    init() {}

    /// Reads the `limits` of the answer to `hello`; what is missing there is as usual.
    init(greeting: JSONView) {
        guard let limits = greeting.member("limits") else { return }
        lineBytes = limits.member("max_line_bytes")?.int.flatMap(Int.init(exactly:)) ?? lineBytes
        depth = limits.member("max_depth")?.int.flatMap(Int.init(exactly:)) ?? depth
    }

    /// Why a request cannot be sent; nil when it can.
    func fault(of call: OutgoingCall) -> RPCError? {
        guard call.longestLine <= lineBytes else {
            return RPCError(.lineTooLong, "the message is longer than the \(lineBytes) bytes that the daemon takes")
        }
        guard call.depth <= depth else {
            return RPCError(
                .limit, "nested deeper than the \(depth) levels that the daemon takes",
                data: ["max_depth": .number(DataNumber(depth))])
        }
        return nil
    }
}
