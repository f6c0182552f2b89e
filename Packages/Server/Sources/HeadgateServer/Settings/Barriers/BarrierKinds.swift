import HeadgateCore
import HeadgateData

/// The kinds of barriers that may be configured: those that come with the service, and those that a program brings.
public struct BarrierKinds {
    /// Kinds that the service itself puts before dispatchers, one for each, and steers.
    static let ownedByService = ["ManualBarrier", "BackoffBarrier", "ActivationGate"]

    private var factories: [String: any BarrierFactory] = [:]
    /// Kinds of a program's own. What their default scopes are is known for sure only when dispatchers are there.
    private var own: Set<String> = []

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
    func check(kind: String, _ entry: SettingsReader) {
        guard let factory = factories[kind] else { return entry.fault("kind", "", complaint(about: kind)) }
        entry.section("configuration") { factory.check($0, timeZone: ZoneInfo().rules) }
    }

    private func complaint(about kind: String) -> String {
        if BarrierKinds.ownedByService.contains(kind) { return "the service has this barrier by itself" }
        return SettingsReader.mustBeOne(of: names)
    }
}
