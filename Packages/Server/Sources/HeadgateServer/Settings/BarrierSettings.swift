import HeadgateCore
import HeadgateData

/// A barrier as the configuration describes it (Behaviour S4).
public struct BarrierSettings: Equatable, Sendable {
    /// The barrier's name: that of its entry.
    public var id: String
    /// Which barrier it is: `kind`, else `barrier_id`, else its name.
    public var kind: String
    /// What it stands before, in the order given. None switches it off; nil leaves it to its factory (Behaviour B4, B5).
    public var scopes: [BarrierScope]?
    /// What it is told, for itself to read.
    public var configuration: DataObject

    /// Its state when its code throws: `on_error` (Behaviour B9).
    public var stateOnError: BarrierState

    public init(
        id: String, kind: String, scopes: [BarrierScope]? = nil, configuration: DataObject = [:],
        stateOnError: BarrierState = .open
    ) {
        self.id = id
        self.kind = kind
        self.scopes = scopes
        self.configuration = configuration
        self.stateOnError = stateOnError
    }

    // MARK: Reading

    init(id: String, _ reader: SettingsReader, kinds: BarrierKinds, dispatchers: [ConfiguredDispatcher]) {
        let barrierID = reader.string("barrier_id")
        self.init(
            id: id, kind: reader.string("kind") ?? barrierID ?? id,
            scopes: reader.scopes("scopes"), configuration: reader.configuration("configuration"))
        reader.word("on_error", of: [.open, .closed], into: &stateOnError)
        if let complaint = BarrierSettings.complaint(about: id) { reader.fault(complaint) }
        kinds.check(kind: kind, reader, isOff: scopes == [])
        warnOfScopes(reader, kinds, dispatchers)
    }

    /// Scopes without a dispatcher take effect when it appears (Behaviour B4). An explicit `[]` is meant.
    private func warnOfScopes(_ reader: SettingsReader, _ kinds: BarrierKinds, _ dispatchers: [ConfiguredDispatcher]) {
        guard let scopes else {
            if dispatchers.contains(where: { kinds.stands(kind, before: $0) }) { return }
            return reader.warn("scopes", "", "are not given, and by default it stands before no dispatcher")
        }
        for case .dispatcher(let scope) in scopes where !dispatchers.contains(where: { $0.id == scope }) {
            reader.warn("scopes", "", "there is no dispatcher `\(scope)`")
        }
        if scopes.contains(.all), dispatchers.isEmpty { reader.warn("scopes", "", "there is no dispatcher at all") }
    }

    /// What is wrong with a barrier's name; nil when it will do.
    private static func complaint(about id: String) -> String? {
        if let complaint = BarrierName.complaint(about: id) { return complaint }
        let isTaken = BarrierKinds.ownedByService.contains { id.hasPrefix($0 + ":") }
        return isTaken ? "is the name of a barrier that the service has by itself" : nil
    }
}

extension SettingsReader {
    /// Scopes: a list, or one alone (Behaviour B4). Each counts once.
    fileprivate func scopes(_ key: String) -> [BarrierScope]? {
        let mustBe = "must be `all`, the id of a dispatcher, or a list of those"
        switch item(key) {
        case nil: return nil
        case .string(let word) where !word.isEmpty: return [BarrierScope(rawValue: word)]
        case .array: return array(key, most: Limits.mostScopes).map { scopes(key, $0) }
        default:
            fault(key, "", mustBe)
            return nil
        }
    }

    /// A barrier's configuration, which its kind checks; a null in it counts as absent, as everywhere.
    fileprivate func configuration(_ key: String) -> DataObject {
        let object = item(key).flatMap(DataObject.init(dataItem:)) ?? [:]
        return DataObject(object.filter { !$0.value.isNull }.map { ($0.key, $0.value) })
    }

    private func scopes(_ key: String, _ items: [DataItem]) -> [BarrierScope] {
        var scopes: [BarrierScope] = []
        for (place, item) in items.enumerated() {
            guard let word = String(dataItem: item), !word.isEmpty else {
                fault(key, "[\(place)]", "must be `all` or the id of a dispatcher")
                continue
            }
            let scope = BarrierScope(rawValue: word)
            if !scopes.contains(scope) { scopes.append(scope) }
        }
        return scopes
    }
}

/// The kinds of barriers that may be configured: those that come with the service, and those that a program brings.
public struct BarrierKinds {
    /// Kinds that the service itself puts before dispatchers, one for each, and steers.
    static let ownedByService = ["ManualBarrier", "BackoffBarrier", "ActivationGate"]

    private var factories: [String: any BarrierFactory] = [:]
    /// Kinds of a program's own. What their default scopes are is known for sure only when dispatchers are there.
    private(set) var own: Set<String> = []

    /// The kinds that come with the service.
    public static var builtIn: BarrierKinds {
        var kinds = BarrierKinds()
        let connectivity = Barriers.connectivity(defaultScopes: [])
        for factory in Barriers.builtIn + [connectivity] { kinds.factories[factory.kind] = factory }
        return kinds
    }

    /// The kinds' names, sorted.
    public var names: [String] { factories.keys.sorted() }

    /// Adds a kind of a program's own, or puts it in the place of another.
    public mutating func add(_ factory: some BarrierFactory) {
        factories[factory.kind] = factory
        own.insert(factory.kind)
    }

    /// Whether a barrier whose settings name no scopes would stand before a dispatcher (Behaviour B5).
    func stands(_ kind: String, before dispatcher: ConfiguredDispatcher) -> Bool {
        if kind == ConnectivityBarrier.id, !own.contains(kind) { return dispatcher.kind.reachesNetwork }
        let scopes = factories[kind]?.defaultScopes() ?? [.all]
        // One of a program's that has none yet may have some when dispatchers come.
        return scopes.cover(dispatcher.id) || scopes.isEmpty && own.contains(kind)
    }

    /// Finds what is wrong with an entry's kind and configuration.
    /// - Parameter isOff: true if it stands before no dispatcher on purpose, so that it needs no configuration.
    func check(kind: String, _ entry: SettingsReader, isOff: Bool) {
        guard let factory = factories[kind] else { return entry.fault("kind", "", complaint(about: kind)) }
        if isOff, entry.item("configuration") == nil { return }
        let configuration = entry.reader(entry.object("configuration") ?? [:], at: "configuration")
        factory.check(configuration, timeZone: ZoneInfo().rules)
        configuration.finish()
    }

    private func complaint(about kind: String) -> String {
        if BarrierKinds.ownedByService.contains(kind) { return "the service has this barrier by itself" }
        return SettingsReader.mustBeOne(of: names)
    }
}

/// What may name a barrier.
enum BarrierName {
    /// The most bytes that a name may have.
    static let longest = 128

    /// What is wrong with a name; nil when it will do.
    static func complaint(about id: String) -> String? {
        let isPrintable = id.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
        if (1...longest).contains(id.utf8.count), isPrintable { return nil }
        return "a barrier's name has 1 to \(longest) bytes and no control characters"
    }
}
