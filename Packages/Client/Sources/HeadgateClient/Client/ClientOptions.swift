import HeadgateData
import HeadgateTransport

/// Who a client says it is.
public struct ClientIdentity: Sendable, Equatable {
    /// The program's name; with the version it becomes the events' `context.client` (Behaviour P2).
    public var name: String
    /// The program's version.
    public var version: String
    /// The namespace in which the ids of events are told apart (Behaviour Q7); nil is that of the user.
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
    /// The client has given up, and all calls that waited have ended with this error. The next call begins anew.
    case failed(ClientError)
    /// The client is closed.
    case closed
}

/// How a client treats its connection, and the types of its program.
public struct ClientOptions: Sendable {
    /// How long a call waits for the first connection before it fails with `cannotConnect`; nil is for ever. One
    /// attempt is always made, and zero makes no other. A daemon that is found stopping counts as a lost connection.
    /// What waiting does not help, like a path that is too long or a socket that this user may not use, fails at once.
    public var connectTimeout: Duration? = .seconds(10)
    /// How long calls wait for a connection that was lost to come back before they fail with `cannotConnect`, or with
    /// `disconnected` if zero: then it is not waited for at all. Nil is for ever.
    public var reconnectTimeout: Duration?
    /// How long the daemon may take to answer its greeting before the attempt counts as failed.
    public var greetingTimeout: Duration = .seconds(10)
    /// How many calls may be unanswered. More wait for their turn, in order; events wait before the client makes JSON of
    /// them. The same number of events of ``HeadgateClient/trackSoon(_:)`` is kept.
    public var maxUnanswered = 16_384
    /// How many bytes may be unanswered. One call is always let through. The same number of bytes of events of
    /// ``HeadgateClient/trackSoon(_:)`` is kept.
    public var maxUnansweredBytes = 8 << 20
    /// How long, about, the first wait between two attempts to connect is; each next one is twice as long.
    public var backoffBase: Duration = .milliseconds(50)
    /// The longest wait between two attempts to connect.
    public var backoffCap: Duration = .seconds(5)
    /// Called on the client's thread with each change of the connection's state. It must not block.
    public var onState: (@Sendable (ClientState) -> Void)?
    /// Called on the client's thread, once for each outage, when calls wait for a daemon that could not be reached, and once
    /// when a barrier, a board, a subscription, a watch or a status is refused on a later connection. The default writes the
    /// text to standard error; nil is silence.
    public var onWarning: (@Sendable (String) -> Void)? = { ClientOptions.warn($0) }
    /// Called with each event of ``HeadgateClient/trackSoon(_:)`` that is not stored, by its id. It must not block.
    public var onDropped: (@Sendable (_ id: String, _ error: any Error) -> Void)?
    /// How the program's own types become the data of events, and data those types again.
    public var coder = DataCoder()

    /// The usual: wait 10 seconds for the first connection, and for ever for a daemon that restarts.
    public init() {}

    /// A reader of standard error that stands still holds up nobody.
    private static func warn(_ text: String) {
        LineOutput.standardError.write("headgate client: \(text)") { "headgate client: \($0) warnings were dropped" }
    }
}
