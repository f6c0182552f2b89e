import HeadgateCore
import HeadgateData

/// The settings of one barrier (Behaviour S4).
public struct BarrierSettings: Equatable, Sendable {
    /// The barrier's ID, which is the name of its entry.
    public var id: String
    /// The barrier's kind: `kind`, else `barrier_id`, else the ID.
    public var kind: String
    /// The barrier's scopes, in the order given. An empty list switches the barrier off, and nil leaves the scopes to
    /// the factory (Behaviour B4, B5).
    public var scopes: [BarrierScope]?
    /// The configuration that the barrier reads itself.
    public var configuration: DataObject

    /// The barrier's state if its code throws: `on_error` (Behaviour B9).
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
        if let problem = BarrierSettings.problem(about: id) { reader.fault(problem) }
        kinds.check(kind: kind, reader, isOff: scopes == [])
        warnOfScopes(reader, kinds, dispatchers)
    }

    /// Warns of scopes that apply to no dispatcher. Such a scope takes effect when the dispatcher appears (Behaviour
    /// B4). An explicit `[]` gets no warning.
    private func warnOfScopes(_ reader: SettingsReader, _ kinds: BarrierKinds, _ dispatchers: [ConfiguredDispatcher]) {
        guard let scopes else {
            if dispatchers.contains(where: { kinds.stands(kind, before: $0) }) { return }
            return reader.warn(
                "scopes", "", "are missing, and no dispatcher has an id of the default scopes: name its dispatchers")
        }
        for case .dispatcher(let scope) in scopes
        where !dispatchers.contains(where: { ExactName($0.id) == ExactName(scope) }) {
            reader.warn("scopes", "", "there is no dispatcher `\(scope)`")
        }
        if scopes.contains(.all), dispatchers.isEmpty { reader.warn("scopes", "", "no dispatcher is configured") }
    }

    /// Returns the fault of a barrier's ID, or nil if the ID is valid.
    private static func problem(about id: String) -> String? {
        if let problem = BarrierName.problem(about: id) { return problem }
        return ConfiguredBarriers.isOwn(id) ? "is the name of a built-in barrier" : nil
    }
}

extension SettingsReader {
    /// Reads scopes: a list, or a single scope (Behaviour B4). Repeated scopes count once.
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

    /// Reads a barrier's configuration, which its kind checks. A null in it counts as absent.
    fileprivate func configuration(_ key: String) -> DataObject {
        let object = item(key).flatMap(DataObject.init(dataItem:)) ?? [:]
        return DataObject(object.filter { !$0.value.isNull }.map { ($0.key, $0.value) })
    }

    private func scopes(_ key: String, _ items: [DataItem]) -> [BarrierScope] {
        var scopes: [BarrierScope] = []
        for (index, item) in items.enumerated() {
            guard let word = String(dataItem: item), !word.isEmpty else {
                fault(key, "[\(index)]", "must be `all` or the id of a dispatcher")
                continue
            }
            let scope = BarrierScope(rawValue: word)
            if !scopes.contains(scope) { scopes.append(scope) }
        }
        return scopes
    }
}

/// The kinds of barriers that settings may name: those of the service, and those that a program adds.
public struct BarrierKinds {
    private var factories: [String: any BarrierFactory] = [:]
    /// The kinds that a program adds. Their default scopes may change until the dispatchers exist.
    private(set) var own: Set<String> = []

    /// The kinds of the service.
    public static var builtIn: BarrierKinds {
        var kinds = BarrierKinds()
        let connectivity = Barriers.connectivity(defaultScopes: [])
        for factory in Barriers.builtIn + [connectivity] { kinds.factories[factory.kind] = factory }
        return kinds
    }

    /// The names of the kinds, sorted.
    public var names: [String] { factories.keys.sorted() }

    /// Adds a program's kind. It replaces a kind of the same name.
    public mutating func add(_ factory: some BarrierFactory) {
        factories[factory.kind] = factory
        own.insert(factory.kind)
    }

    /// Returns true if a barrier without configured scopes applies to a dispatcher (Behaviour B5).
    func stands(_ kind: String, before dispatcher: ConfiguredDispatcher) -> Bool {
        if kind == ConnectivityBarrier.id, !own.contains(kind) { return dispatcher.kind.reachesNetwork }
        let scopes = factories[kind]?.defaultScopes() ?? [.all]
        // A program's kind without scopes may still get some when dispatchers appear.
        return scopes.cover(dispatcher.id) || scopes.isEmpty && own.contains(kind)
    }

    /// Checks the kind and the configuration of an entry.
    /// - Parameter isOff: true if the entry's scopes are an explicit `[]`, so that it needs no configuration.
    func check(kind: String, _ entry: SettingsReader, isOff: Bool) {
        guard let factory = factories[kind] else { return entry.fault("kind", "", problem(about: kind)) }
        if isOff, entry.item("configuration") == nil { return }
        let configuration = entry.reader(entry.object("configuration") ?? [:], at: "configuration")
        factory.check(configuration, timeZone: ZoneInfo().rules)
        configuration.finish()
    }

    private func problem(about kind: String) -> String {
        if ConfiguredBarriers.ownKinds.contains(kind) { return "this barrier is built in" }
        return SettingsReader.mustBeOne(of: names)
    }
}
