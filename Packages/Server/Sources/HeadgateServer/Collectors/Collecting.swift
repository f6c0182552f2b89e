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

    /// The context of one event.
    /// - Parameters:
    ///   - connection: the context of its connection.
    ///   - arena: where it is put, as far as it is not its connection's.
    func context(
        of caller: Caller, on connection: FixedBytes, in arena: ByteArena
    ) -> UnsafeRawBufferPointer {
        guard !active.isEmpty else { return connection.view }
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
            gate.board.counters.collectorErrors += 1
            complain("collector \(collector.id): \(error)", of: collector.id)
            return [:]
        }
    }

    private func complain(_ complaint: String, of id: String) {
        guard complaints[id] != complaint else { return }
        complaints[id] = complaint
        log.warning(complaint)
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
