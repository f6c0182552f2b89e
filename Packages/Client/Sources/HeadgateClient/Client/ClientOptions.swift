import HeadgateData

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

/// How a client treats its connection, and the types of its program.
public struct ClientOptions: Sendable {
    /// How long a call waits for the first connection before it fails with `cannotConnect`; nil is for ever. One
    /// attempt is always made, and zero makes no other. A daemon that is found stopping counts as a lost connection.
    public var connectTimeout: Duration?
    /// How long calls wait for a connection that was lost to come back before they fail with `cannotConnect`, or with
    /// `disconnected` if zero: then it is not waited for at all. Nil is for ever.
    public var reconnectTimeout: Duration?
    /// How long the daemon may take to answer its greeting before the attempt counts as failed.
    public var greetingTimeout: Duration = .seconds(10)
    /// How many calls may be written and not answered. More wait for their turn, in order.
    public var maxUnanswered = 16_384
    /// How many bytes may be written and not answered. One call is always let through.
    public var maxUnansweredBytes = 8 << 20
    /// How long, about, the first wait between two attempts to connect is; each next one is twice as long.
    public var backoffBase: Duration = .milliseconds(50)
    /// The longest wait between two attempts to connect.
    public var backoffCap: Duration = .seconds(5)
    /// How the program's own types become the data of events, and data those types again.
    public var coder = DataCoder()

    /// The usual: wait for the daemon for ever.
    public init() {}
}
