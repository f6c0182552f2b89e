import HeadgateCore
import HeadgateData
import HeadgateTransport

/// All that the configuration tells the service, checked. Defaults are in force where it is silent.
public struct Settings: Equatable, Sendable {
    /// The socket's path; nil: see ``Places``.
    public var socket: String?
    /// The data directory; nil: see ``Places``.
    public var dataDirectory: String?
    /// How safe an event is when it is acknowledged (Behaviour Q5).
    public var durability = Durability.full
    /// What the socket's clients are held to (Behaviour X2).
    public var limits = Limits()
    /// Who may do what (Behaviour X1).
    public var access = AccessSettings()
    /// How what is kept lies on the disk (Behaviour Q1).
    public var storeKind = StoreKind.log
    /// How much is kept, and how long (Behaviour Q4).
    public var store = StoreLimits()
    /// How the log is written (Behaviour O4).
    public var logFormat = LogFormat.text
    /// How many events are remembered with what became of them (Behaviour O2).
    public var tracedEvents = EventTrace.usual
    /// The longest that an orderly stop waits for what is in flight, and for its flush (Behaviour D11, F5).
    public var shutdownTimeout = Duration.milliseconds(5000)
    /// What flushes by itself (Behaviour F5).
    public var flushOn = FlushOccasions()
    /// What is added to events (Behaviour P2).
    public var collectors = CollectorSettings()
    /// How the machine's network is looked at (Behaviour B20, B21).
    public var network = NetworkSettings()
    /// What stands before boards (Behaviour A7).
    public var gateways = GatewayRules()
    /// Where the remote layer comes from; nil: there is none (Behaviour S1).
    public var remote: RemoteSource?
    /// The rules by their ids (Behaviour S5).
    public var loadRules: [String: Rule] = [:]
    /// The transformations, in the order of the configuration (Behaviour P4).
    var transformations: [ConfiguredTransformation] = []
    /// The dispatchers, in the order of the configuration.
    var dispatchers: [ConfiguredDispatcher] = []
    /// The barriers, in the order of the configuration.
    public var barriers: [BarrierSettings] = []
    /// What the settings refer to and do not hold.
    var references: [SettingsReference] = []
    /// The places of what a kind of dispatchers took for a secret (Behaviour X4).
    var secrets: Set<String> = []
    /// True if keys that no setting has are warnings (Behaviour S2).
    public var isLenient = false

    /// What is in force where a configuration says nothing; no dispatcher and no barrier.
    public init() {}

    /// The dispatchers' names, in the order of the configuration.
    public var dispatcherIDs: [String] {
        dispatchers.map(\.id)
    }

    // MARK: Reading

    /// Reads settings and finds all that is wrong with them (Behaviour S2).
    ///
    /// - Parameters:
    ///   - vocabulary: the names that they may use.
    ///   - directory: the data directory, for faults that depend on the machine's files; nil: there are none of these.
    ///   - forgives: returns true for the path of an unknown key that is only a warning.
    public static func read(
        _ object: DataObject, vocabulary: SettingsVocabulary = .builtIn, directory: String? = nil,
        forgiving forgives: (String) -> Bool = { _ in false }
    ) -> SettingsReading {
        let reader = SettingsReader(object, directory: directory)
        var settings = Settings()
        settings.read(reader, vocabulary)
        var findings = reader.findings
        let isLenient = settings.isLenient
        findings.judgeUnknownKeys { isLenient || forgives($0) }
        return SettingsReading(settings, findings)
    }

    mutating func read(_ reader: SettingsReader, _ vocabulary: SettingsVocabulary) {
        readPlaces(reader)
        readSections(reader, vocabulary)
        let rules = readLoadRules(reader, program: vocabulary.loadRules)
        readDispatchers(reader, rules: rules, vocabulary)
        readTransformations(reader, rules: rules, own: vocabulary.transformerKinds)
        readBarriers(reader, kinds: vocabulary.barrierKinds)
        warnOfUnusedRules(reader, rules, program: vocabulary.loadRules)
        reader.finish()
        references = reader.references
        secrets = reader.secrets
    }

    private mutating func readPlaces(_ reader: SettingsReader) {
        socket = reader.socketPath("socket")
        dataDirectory = reader.filePath("data_dir")
    }

    private mutating func readSections(_ reader: SettingsReader, _ vocabulary: SettingsVocabulary) {
        reader.bool("lenient", into: &isLenient)
        reader.word("durability", of: Durability.allCases, into: &durability)
        reader.word("log_format", of: LogFormat.allCases, into: &logFormat)
        reader.section("limits") { limits.read($0) }
        reader.section("access") { access.read($0) }
        reader.section("store") { section in
            section.word("kind", of: StoreKind.allCases, into: &storeKind)
            store.read(section)
        }
        reader.section("trace") { $0.integer("remember", in: 0...EventTrace.most, into: &tracedEvents) }
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
        refuseConfiguredFormers(reader)
        if dispatchers.isEmpty { reader.warn("dispatchers", "", "there is none, so no event is kept") }
    }

    /// A dispatcher that is still there keeps its queue (Behaviour Q3).
    private func refuseConfiguredFormers(_ reader: SettingsReader) {
        let holder = reader.reader([:], at: "dispatchers")
        for dispatcher in dispatchers {
            guard let former = dispatcher.common.formerly, former != dispatcher.id, dispatcherIDs.contains(former)
            else { continue }
            holder.fault(dispatcher.id, ".formerly", "`\(former)` is still configured, and keeps its queue")
        }
    }

    private mutating func readBarriers(_ reader: SettingsReader, kinds: BarrierKinds) {
        let dispatchers = dispatchers
        reader.entries("barriers", most: Limits.mostBarriers) { id, entry in
            barriers.append(BarrierSettings(id: id, entry, kinds: kinds, dispatchers: dispatchers))
        }
        warnOfIdleKinds(reader, kinds)
    }

    /// A program's barrier that settings do not name has its default scopes; before no dispatcher it does nothing
    /// (Behaviour B4).
    private func warnOfIdleKinds(_ reader: SettingsReader, _ kinds: BarrierKinds) {
        let holder = reader.reader([:], at: "barriers")
        for kind in kinds.own.sorted() where !barriers.contains(where: { $0.id == kind }) {
            if dispatchers.contains(where: { kinds.stands(kind, before: $0) }) { continue }
            holder.warn(kind, "", "stands by default before no dispatcher that is there")
        }
    }

    // MARK: Showing

    private var storeSection: DataObject {
        DataObject([("kind", .string(storeKind.rawValue))] + Array(store.object))
    }

    /// The sections that have defaults as the configuration would have them written; reading it gives the same again.
    var sections: DataObject {
        [
            "durability": .string(durability.rawValue), "lenient": .bool(isLenient),
            "log_format": .string(logFormat.rawValue),
            "limits": .object(limits.object),
            "access": .object(access.object),
            "store": .object(storeSection),
            "trace": ["remember": .number(DataNumber(tracedEvents))],
            "shutdown_timeout_ms": .init(milliseconds: shutdownTimeout),
            "flush_on": .object(flushOn.object),
            "collectors": .object(collectors.object),
            "network": .object(network.object),
        ]
    }
}

extension DataItem {
    /// A member whose name ends in `_ms`.
    init(milliseconds duration: Duration) {
        self = .number(DataNumber(Int(duration / .milliseconds(1))))
    }

    /// A member whose name ends in `_s`.
    init(seconds duration: Duration) {
        self = .number(DataNumber(Int(duration / .seconds(1))))
    }
}

/// What came of reading settings: they are there when nothing is wrong with them (Behaviour S2).
public struct SettingsReading: Equatable, Sendable {
    /// The settings; nil when there is a fault.
    public let settings: Settings?
    /// All faults and warnings, not only the first.
    public let findings: SettingsFindings

    init(_ settings: Settings?, _ findings: SettingsFindings) {
        self.settings = findings.faults.isEmpty ? settings : nil
        self.findings = findings
    }

    /// Settings that could not even be parsed.
    init(fault: SettingsFault) {
        self.init(nil, SettingsFindings(faults: [fault]))
    }

    /// What keeps the settings from being used; empty when they are there.
    public var faults: [SettingsFault] { findings.faults }

    /// What the settings can be used in spite of.
    public var warnings: [SettingsFault] { findings.warnings }

    /// The same with more warnings.
    func adding(warnings: [SettingsFault]) -> SettingsReading {
        var more = findings
        more.warnings += warnings
        return SettingsReading(settings, more)
    }
}

/// What settings may name: what comes with the service, and what a program adds to it.
public struct SettingsVocabulary {
    /// The kinds of barriers.
    public var barrierKinds = BarrierKinds.builtIn
    /// The kinds of dispatchers: the service's, and those that the program brings (Behaviour K5).
    var dispatcherKinds = DispatcherKinds()
    /// The collectors that the program brings (Behaviour P2).
    public var collectors: Set<String> = []
    /// The load rules that the program brings, by their ids; the settings may have others under the same ids.
    public var loadRules: [String: Rule] = [:]
    /// The kinds of transformers that the program brings.
    public var transformerKinds: Set<String> = []

    public init() {}

    /// Nothing of a program's.
    public static var builtIn: SettingsVocabulary { SettingsVocabulary() }
}

extension SettingsReader {
    /// The path of a Unix socket.
    func socketPath(_ key: String) -> String? {
        guard let path = filePath(key) else { return nil }
        if path.utf8.count <= UnixAddress.longestPath { return path }
        fault(key, "", "must be a path of at most \(UnixAddress.longestPath) bytes")
        return nil
    }
}
