import HeadgateCore
import HeadgateData

extension Settings {
    /// Reads settings and finds all that is wrong with them (Behaviour S2).
    ///
    /// - Parameter vocabulary: what may be named in them.
    public static func read(_ object: DataObject, vocabulary: SettingsVocabulary = .builtIn) -> SettingsReading {
        let reader = SettingsReader(object)
        var settings = Settings()
        settings.read(reader, vocabulary)
        return SettingsReading(settings, reader.findings)
    }

    /// Reads all there is.
    mutating func read(_ reader: SettingsReader, _ vocabulary: SettingsVocabulary) {
        readPlaces(reader)
        readSections(reader, vocabulary)
        let rules = readLoadRules(reader, program: vocabulary.loadRules)
        readDispatchers(reader, rules: rules, vocabulary)
        readTransformations(reader, rules: rules, own: vocabulary.transformerKinds)
        readBarriers(reader, kinds: vocabulary.barrierKinds)
        reader.finish()
        references = reader.references
        secrets = reader.secrets
    }

    private mutating func readPlaces(_ reader: SettingsReader) {
        socket = reader.socketPath("socket")
        dataDirectory = reader.filePath("data_dir")
    }

    private mutating func readSections(_ reader: SettingsReader, _ vocabulary: SettingsVocabulary) {
        reader.word("durability", of: Durability.allCases, into: &durability)
        reader.section("limits") { limits.read($0) }
        reader.section("access") { access.read($0) }
        reader.section("store") { store.read($0) }
        reader.milliseconds("shutdown_timeout_ms", atLeast: 0, into: &shutdownTimeout)
        reader.section("flush_on") { flushOn.read($0) }
        reader.section("collectors") { collectors.read($0, own: vocabulary.collectors) }
        reader.section("network") { network.read($0) }
        reader.section("gateway") { gateways = GatewayRules($0) }
        reader.section("remote") { remote = RemoteSource($0) }
    }

    private mutating func readDispatchers(
        _ reader: SettingsReader, rules: RuleReader, _ vocabulary: SettingsVocabulary
    ) {
        reader.entries("dispatchers", most: Limits.mostDispatchers) { id, entry in
            dispatchers.append(ConfiguredDispatcher(id: id, entry, rules: rules, kinds: vocabulary.dispatcherKinds))
        }
        if dispatchers.isEmpty { reader.warn("dispatchers", "", "there is none, so no event is kept") }
    }

    private mutating func readBarriers(_ reader: SettingsReader, kinds: BarrierKinds) {
        let dispatchers = dispatchers
        reader.entries("barriers", most: Limits.mostBarriers) { id, entry in
            barriers.append(BarrierSettings(id: id, entry, kinds: kinds, dispatchers: dispatchers))
        }
    }
}
