import HeadgateData

/// What the socket's clients are held to (Behaviour X2). `hello` tells them.
public struct Limits: Equatable, Sendable {
    /// The longest line that is read, in bytes.
    public var maxLineBytes = 1_048_576
    /// How deep a message's arrays and objects may be nested.
    public var maxDepth = 64
    /// Connections at once.
    public var maxConnections = 4096
    /// Connections of one user at once.
    public var maxConnectionsPerUID = 1024
    /// Requests of one connection that are not answered yet; reading stops there.
    public var maxUnanswered = 16_384
    /// Bytes of one connection's requests that are not answered yet; reading stops there.
    public var maxUnansweredBytes = 16_777_216
    /// Bytes of answers that one connection has not taken yet.
    public var maxOutputBytes = 4_194_304
    /// How long a connection may leave its answers lying before it is closed.
    public var slowReaderTimeout = Duration.milliseconds(30_000)

    public init() {}

    /// The limits under the names of the protocol.
    public var object: DataObject {
        [
            "max_line_bytes": .number(DataNumber(maxLineBytes)),
            "max_depth": .number(DataNumber(maxDepth)),
            "max_connections": .number(DataNumber(maxConnections)),
            "max_connections_per_uid": .number(DataNumber(maxConnectionsPerUID)),
            "max_unanswered": .number(DataNumber(maxUnanswered)),
            "max_unanswered_bytes": .number(DataNumber(maxUnansweredBytes)),
            "max_output_bytes": .number(DataNumber(maxOutputBytes)),
            "slow_reader_timeout_ms": .init(milliseconds: slowReaderTimeout),
        ]
    }

    mutating func read(_ reader: SettingsReader) {
        reader.integer("max_line_bytes", in: 64...(1 << 30), into: &maxLineBytes)
        reader.integer("max_depth", in: 1...1024, into: &maxDepth)
        reader.integer("max_connections", in: 1...1_000_000, into: &maxConnections)
        reader.integer("max_connections_per_uid", in: 1...1_000_000, into: &maxConnectionsPerUID)
        reader.integer("max_unanswered", in: 1...1_000_000, into: &maxUnanswered)
        reader.integer("max_unanswered_bytes", in: 1...(1 << 40), into: &maxUnansweredBytes)
        reader.integer("max_output_bytes", in: 1...(1 << 40), into: &maxOutputBytes)
        reader.milliseconds("slow_reader_timeout_ms", into: &slowReaderTimeout)
    }
}
