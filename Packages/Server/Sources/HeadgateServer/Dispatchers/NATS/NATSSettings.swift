/// What a dispatcher of kind `nats` can be told beyond what all can (Behaviour K4).
struct NATSSettings: Sendable, Equatable {
    /// Servers of one cluster; any of them will do.
    var servers: [NATSServer]
    /// Where each event is published.
    var subject: String
    /// The stream that has to take the events; nil: whichever takes the subject.
    var stream: String?
    /// Whether the stream is made where it is missing.
    var createStream = false
    /// A file with a user's JWT and key.
    var credentialsFile: String?
    /// How connections are encrypted; nil: as the servers' schemes and the servers themselves say.
    var tls: HTTPSettings.TLS?
    /// The longest that a batch may wait for its acknowledgements, connecting included.
    var timeout = Duration.seconds(30)
    /// The longest that connecting to one server may take.
    var connectTimeout = Duration.seconds(10)
}
