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
    /// The collectors of the program's own that are switched off.
    public var ownSwitchedOff: Set<String> = []

    public init() {}

    /// The names of the service's own collectors.
    static let builtIn: Set<String> = ["peer", "client", "host", "network"]

    /// The collectors under the names of the configuration.
    var object: DataObject {
        var object: DataObject = [
            "peer": .bool(peer), "client": .bool(client), "host": .bool(host), "network": .bool(network),
        ]
        for id in ownSwitchedOff.sorted() { object[id] = .bool(false) }
        return object
    }

    /// - Parameter own: the names of the collectors that the program brings.
    mutating func read(_ reader: SettingsReader, own: Set<String>) {
        reader.bool("peer", into: &peer)
        reader.bool("client", into: &client)
        reader.bool("host", into: &host)
        reader.bool("network", into: &network)
        for id in own.sorted() {
            var isOn = true
            reader.bool(id, into: &isOn)
            if !isOn { ownSwitchedOff.insert(id) }
        }
    }
}
