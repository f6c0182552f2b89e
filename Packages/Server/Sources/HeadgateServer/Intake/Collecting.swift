import Glibc
import HeadgateCore
import HeadgateData

/// Makes the context of events (Behaviour P2): what the service's own collectors know of a connection, once for all its
/// events, and what the program's collectors add to each.
final class Collecting {
    private let gate: Headgate
    private let log: Log
    private let own: [any Collector]
    private var settings: CollectorSettings
    private var origins: OriginContext
    /// The collectors of the program's that are switched on.
    private var active: [any Collector] = []
    /// What each collector that failed said last, so that the log says it once.
    private var complaints: [String: String] = [:]

    init(_ own: [any Collector], settings: CollectorSettings, gate: Headgate, log: Log) {
        self.gate = gate
        self.log = log
        self.own = own
        self.settings = settings
        origins = OriginContext(settings: settings)
        change(to: settings)
    }

    /// Other settings are in force; the contexts of connections have to be made anew.
    func change(to settings: CollectorSettings) {
        self.settings = settings
        origins = OriginContext(settings: settings)
        active = own.filter { !settings.ownSwitchedOff.contains($0.id) }
    }

    /// The context of all events of a connection, as a JSON object.
    func context(of caller: Caller, networkConnectionType: String?) -> [UInt8] {
        origins.context(of: caller, networkConnectionType: networkConnectionType)
    }

    /// Whether events of one connection may have contexts that are not one and the same.
    var addsToEach: Bool { !active.isEmpty }

    /// The context of one event.
    /// - Parameters:
    ///   - connection: the context of its connection.
    ///   - arena: where it is put, as far as it is not its connection's.
    func context(
        of caller: Caller, on connection: FixedBytes, in arena: ByteArena
    ) -> UnsafeRawBufferPointer {
        var added = DataObject()
        for collector in active { added.merge(part(of: collector, caller.origin)) }
        guard !added.isEmpty else { return connection.view }
        return arena.keep(OriginContext.extended(connection.view, by: added))
    }

    private func part(of collector: any Collector, _ origin: EventOrigin) -> DataObject {
        do {
            let part = try collector.collect(origin)
            complaints[collector.id] = nil
            return part
        } catch {
            gate.counts.count(.collectorErrors)
            complain("\(error)", of: collector.id)
            return [:]
        }
    }

    private func complain(_ complaint: String, of id: String) {
        guard complaints[id] != complaint else { return }
        complaints[id] = complaint
        log.tell(.collectorFailed, ["collector": .string(id), "cause": .string(complaint)])
    }
}

extension DataObject {
    /// Takes over the members of another; those that both have are the other's.
    fileprivate mutating func merge(_ other: DataObject) {
        for (key, value) in other { self[key] = value }
    }
}

extension Caller {
    fileprivate var origin: EventOrigin {
        EventOrigin(pid: credentials.pid, uid: credentials.uid, gid: credentials.gid, client: client)
    }
}

/// Says where a connection's events come from (Behaviour P2). What a client says of itself is taken from `hello`; process,
/// user and group from the socket, never from the client's word.
private struct OriginContext {
    let settings: CollectorSettings
    /// The machine's name.
    let host: String

    init(settings: CollectorSettings, host: String = OriginContext.hostName) {
        self.settings = settings
        self.host = host
    }

    /// The context of all events of a session, as a JSON object.
    func context(of caller: Caller, networkConnectionType: String?) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        if settings.peer {
            json.member("pid", caller.credentials.pid)
            json.member("uid", caller.credentials.uid)
            json.member("gid", caller.credentials.gid)
        }
        if settings.client, let client = caller.client { json.member("client", client) }
        if settings.client, caller.hasNamespaceOfItsOwn { json.member("namespace", caller.namespace) }
        if settings.host { json.member("host", host) }
        if settings.network, let networkConnectionType { json.member("network_connection_type", networkConnectionType) }
        json.endObject()
        return json.bytes
    }

    /// The members that no other collector can give.
    private static let members: Set<String> = [
        "pid", "uid", "gid", "client", "namespace", "host", "network_connection_type",
    ]

    /// A context with what other collectors add.
    static func extended(_ context: UnsafeRawBufferPointer, by added: DataObject) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        // Without its braces it is a list of members.
        if context.count > 2 {
            json.element()
            json.raw(UnsafeRawBufferPointer(rebasing: context[1..<context.count - 1]))
        }
        for (key, value) in added where !members.contains(key) {
            json.member(key: key)
            json.item(value)
        }
        json.endObject()
        return json.bytes
    }

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// Which collectors add their context to events (Behaviour P2).
public struct CollectorSettings: Equatable, Sendable {
    /// `pid`, `uid` and `gid`, from the socket.
    public var peer = true
    /// `client`, as it named itself, and its `namespace` if it named one.
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
