import HeadgateData
import HeadgateTransport

/// The name of a client.
public struct ClientIdentity: Sendable, Equatable {
    /// The program's name. With the version it becomes the events' `context.client` (Behaviour P2).
    public var name: String
    /// The program's version.
    public var version: String
    /// The namespace of the events' ids (Behaviour Q7); nil is the user's.
    public var namespace: String?

    public init(name: String, version: String, namespace: String? = nil) {
        self.name = name
        self.version = version
        self.namespace = namespace
    }
}

/// The state of a client's connection, for ``ClientOptions/onState``.
public enum ClientState: Sendable, Equatable {
    /// The daemon has answered the greeting.
    case connected
    /// There is no connection, for this reason. The client connects again as long as calls wait.
    case disconnected(ClientError)
    /// All waiting calls have ended with this error, and the client no longer tries to connect. The next call connects again.
    case failed(ClientError)
    /// The client is closed.
    case closed
}

/// The options of a client.
public struct ClientOptions: Sendable {
    /// The longest wait of a call for the first connection; nil waits for ever. After this time the call fails with
    /// `cannotConnect`. The client always makes one attempt, and with zero no other. A stopping daemon counts as a lost
    /// connection. Permanent faults fail at once: a path that is too long, or a socket that this user may not use.
    public var connectTimeout: Duration? = .seconds(10)
    /// The longest wait of calls after a lost connection; nil waits for ever. After this time the calls fail with
    /// `cannotConnect`. With zero they fail at once, with `disconnected`.
    public var reconnectTimeout: Duration?
    /// The longest wait for the daemon's answer to the greeting.
    public var greetingTimeout: Duration = .seconds(10)
    /// The greatest number of unanswered calls. Further calls wait for their turn, in order. Events wait before the
    /// client encodes them. It is also the greatest number of events of ``HeadgateClient/trackSoon(_:)`` that the
    /// client keeps.
    public var maxUnanswered = 16_384
    /// The greatest number of unanswered bytes. One call always passes. It is also the greatest number of bytes of
    /// events of ``HeadgateClient/trackSoon(_:)`` that the client keeps.
    public var maxUnansweredBytes = 8 << 20
    /// The approximate wait between the first two attempts to connect. Each later wait is twice as long.
    public var backoffBase: Duration = .milliseconds(50)
    /// The longest wait between two attempts to connect.
    public var backoffCap: Duration = .seconds(5)
    /// Called on the client's thread with each change of the connection's state. It must not block.
    public var onState: (@Sendable (ClientState) -> Void)?
    /// Called on the client's thread once for each outage in which calls wait for the daemon. It is also called once
    /// when a barrier, a board, a subscription, a watch or a status is refused on a later connection. The default
    /// writes the text to standard error; nil writes nothing.
    public var onWarning: (@Sendable (String) -> Void)? = { ClientOptions.warn($0) }
    /// Called in place of ``onWarning`` for a refusal on a later connection; nil for no difference. For the command line
    /// tool, which reports outages itself.
    package var onRefusal: (@Sendable (String) -> Void)?
    /// Called with the id of each event of ``HeadgateClient/trackSoon(_:)`` that is not stored. It must not block.
    public var onDropped: (@Sendable (_ id: String, _ error: any Error) -> Void)?
    /// Encodes types of the program as the data of events, and decodes data.
    public var coder = DataCoder()

    /// Creates the default options: a wait of 10 seconds for the first connection, and an unlimited wait for a daemon
    /// that restarts.
    public init() {}

    /// Writes a warning without waiting for the reader of standard error.
    private static func warn(_ text: String) {
        LineOutput.standardError.write("headgate client: \(text)") { "headgate client: \($0) warnings dropped" }
    }
}
