import Glibc
import HeadgateCore
import HeadgateData

/// The collectors that make the context of events (Behaviour P2). The service's own collectors make one context per
/// connection, which all its events share. The embedding program's collectors add members to each event's context.
final class ContextCollectors {
    private let gate: Headgate
    private let log: Log
    private let own: [any Collector]
    private var settings: CollectorSettings
    private var origins: OriginContext
    /// The program's collectors that the settings leave on.
    private var active: [any Collector] = []
    /// The last error of each failing collector, by the collector's ID. It keeps the log from repeating an error.
    private var lastErrors: [String: String] = [:]

    init(_ own: [any Collector], settings: CollectorSettings, gate: Headgate, log: Log) {
        self.gate = gate
        self.log = log
        self.own = own
        self.settings = settings
        origins = OriginContext(settings: settings)
        change(to: settings)
    }

    /// Applies new settings. The caller has to make the contexts of all connections again.
    func change(to settings: CollectorSettings) {
        self.settings = settings
        origins = OriginContext(settings: settings)
        active = own.filter { !settings.ownSwitchedOff.contains($0.id) }
    }

    /// Returns the context that all events of a connection share, as a JSON object.
    func context(of caller: Caller, networkConnectionType: String?) -> [UInt8] {
        origins.context(of: caller, networkConnectionType: networkConnectionType)
    }

    /// A Boolean value that says whether events of one connection may have different contexts.
    var addsToEach: Bool { !active.isEmpty }

    /// Returns the context of one event.
    /// - Parameters:
    ///   - connection: the context of the event's connection.
    ///   - arena: holds the new context if a collector adds to the connection's.
    func context(
        of caller: Caller, on connection: PinnedBytes, in arena: ByteArena
    ) -> UnsafeRawBufferPointer {
        var added = DataObject()
        for collector in active { added.merge(part(of: collector, caller.origin)) }
        guard !added.isEmpty else { return connection.view }
        return arena.keep(OriginContext.extended(connection.view, by: added))
    }

    private func part(of collector: any Collector, _ origin: EventOrigin) -> DataObject {
        do {
            let part = try collector.collect(origin)
            lastErrors[collector.id] = nil
            return part
        } catch {
            gate.counts.count(.collectorErrors)
            logError("\(error)", of: collector.id)
            return [:]
        }
    }

    private func logError(_ error: String, of id: String) {
        guard lastErrors[id] != error else { return }
        lastErrors[id] = error
        log.write(.collectorFailed, ["collector": .string(id), "cause": .string(error)])
    }
}

extension DataObject {
    /// Copies the members of another object into this one, over members of the same name.
    fileprivate mutating func merge(_ other: DataObject) {
        for (key, value) in other { self[key] = value }
    }
}

extension Caller {
    fileprivate var origin: EventOrigin {
        EventOrigin(pid: credentials.pid, uid: credentials.uid, gid: credentials.gid, client: client)
    }
}

/// The builder of the context that describes the origin of a connection's events (Behaviour P2). The client's name and
/// namespace come from `hello`. Process, user and group come from the socket, never from the client.
private struct OriginContext {
    let settings: CollectorSettings
    /// The machine's host name.
    let host: String

    init(settings: CollectorSettings, host: String = OriginContext.hostName) {
        self.settings = settings
        self.host = host
    }

    /// Returns the context of all events of a connection, as a JSON object.
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

    /// The members that the service's own collectors write, and that a program's collector may not overwrite.
    private static let members: Set<String> = [
        "pid", "uid", "gid", "client", "namespace", "host", "network_connection_type",
    ]

    /// Returns a context with the members that a program's collectors add.
    static func extended(_ context: UnsafeRawBufferPointer, by added: DataObject) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        // The members of the old context, without the braces.
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

/// The selection of the collectors that add context to events (Behaviour P2).
public struct CollectorSettings: Equatable, Sendable {
    /// A Boolean value that says whether events get `pid`, `uid` and `gid`, from the socket.
    public var peer = true
    /// A Boolean value that says whether events get `client`, and `namespace` if the client named one.
    public var client = true
    /// A Boolean value that says whether events get `host`.
    public var host = true
    /// A Boolean value that says whether events get `network_connection_type`.
    public var network = true
    /// The IDs of the program's own collectors that are switched off.
    public var ownSwitchedOff: Set<String> = []

    public init() {}

    private static let table = SettingsTable<CollectorSettings>([
        .key("peer", .bool, \.peer), .key("client", .bool, \.client), .key("host", .bool, \.host),
        .key("network", .bool, \.network),
    ])

    /// The names of the service's own collectors.
    static let builtIn = Set(table.keys.map(\.name))

    /// The section `collectors` as it is in a configuration.
    var object: DataObject {
        var object = CollectorSettings.table.object(self)
        for id in ownSwitchedOff.sorted() { object[id] = .bool(false) }
        return object
    }

    /// Reads the section `collectors`.
    /// - Parameter own: the IDs of the program's own collectors.
    mutating func read(_ reader: SettingsReader, own: Set<String>) {
        CollectorSettings.table.read(reader, into: &self)
        for id in own.sorted() {
            var isOn = true
            reader.bool(id, into: &isOn)
            if !isOn { ownSwitchedOff.insert(id) }
        }
    }
}
