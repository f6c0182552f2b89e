import HeadgateData

/// Which collectors add their context to events (Behaviour P2).
public struct CollectorSettings: Equatable, Sendable {
    /// `pid`, `uid` and `gid`, from the socket.
    public var peer = true
    /// `client`, as it named itself.
    public var client = true
    /// `host`.
    public var host = true
    /// `network_connection_type`.
    public var network = true

    public init() {}

    /// The collectors under the names of the configuration.
    var object: DataObject {
        ["peer": .bool(peer), "client": .bool(client), "host": .bool(host), "network": .bool(network)]
    }

    mutating func read(_ reader: SettingsReader) {
        reader.bool("peer", into: &peer)
        reader.bool("client", into: &client)
        reader.bool("host", into: &host)
        reader.bool("network", into: &network)
    }
}
