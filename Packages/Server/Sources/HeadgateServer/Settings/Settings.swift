import HeadgateCore
import HeadgateData
import HeadgateTransport

/// All checked settings of the service. Members that a configuration does not set have their defaults.
public struct Settings: Equatable, Sendable {
    /// The socket's path, or nil for the default (see ``DaemonPaths``).
    public var socket: String?
    /// The data directory, or nil for the default (see ``DaemonPaths``).
    public var dataDirectory: String?
    /// The durability of acknowledged events (Behaviour Q5).
    public var durability = Durability.full
    /// The limits of the socket's clients (Behaviour X2).
    public var limits = Limits()
    /// The rights of users (Behaviour X1).
    public var access = AccessSettings()
    /// The kind of the event store (Behaviour Q1).
    public var storeKind = StoreKind.log
    /// The keys of the event store, or nil if it is not encrypted (Behaviour C1).
    public var encryption: EncryptionSettings?
    /// The limits of the event store, in number, size and age (Behaviour Q4).
    public var store = StoreLimits()
    /// The format of the log (Behaviour O4).
    public var logFormat = LogFormat.text
    /// The number of events that the trace remembers with their outcomes (Behaviour O2).
    public var tracedEvents = EventTrace.default
    /// The longest time that an orderly stop waits for batches in flight and for its flush (Behaviour D11, F5).
    public var shutdownTimeout = Duration.milliseconds(5000)
    /// The occasions of automatic flushes (Behaviour F5).
    public var flushOn = FlushOccasions()
    /// The collectors that add context to events (Behaviour P2).
    public var collectors = CollectorSettings()
    /// The settings of the network watch (Behaviour B20, B21).
    public var network = NetworkSettings()
    /// The gateway rules of boards (Behaviour A7).
    public var gateways = GatewayRules()
    /// The source of the remote layer, or nil if there is none (Behaviour S1).
    public var remote: RemoteSource?
    /// The load rules by their IDs (Behaviour S5).
    public var loadRules: NameTable<Rule> = [:]
    /// The transformations, in the order of the configuration (Behaviour P4).
    var transformations: [ConfiguredTransformation] = []
    /// The dispatchers, in the order of the configuration.
    var dispatchers: [ConfiguredDispatcher] = []
    /// The barriers, in the order of the configuration.
    public var barriers: [BarrierSettings] = []
    /// The files and environment variables that the settings refer to.
    var references: [SettingsReference] = []
    /// The key paths of the values that kinds of dispatchers treat as secrets (Behaviour X4).
    var secrets: Set<String> = []
    /// True if unknown keys are warnings and not faults (Behaviour S2).
    public var isLenient = false

    /// Makes the settings of an empty configuration, without dispatchers and barriers.
    public init() {}

    /// The IDs of the dispatchers, in the order of the configuration.
    public var dispatcherIDs: [String] {
        dispatchers.map(\.id)
    }

    // MARK: Reading

    /// Reads settings and collects all faults (Behaviour S2).
    ///
    /// - Parameters:
    ///   - vocabulary: the names that the settings may use.
    ///   - directory: the data directory, for faults that depend on the machine's files. If nil, these are not checked.
    ///   - ownFiles: the paths of files that the daemon itself uses, like its configuration, each with a description.
    ///   - forgives: returns true for the path of an unknown key that is only a warning.
    public static func read(
        _ object: DataObject, vocabulary: SettingsVocabulary = .builtIn, directory: String? = nil,
        ownFiles: [String: String] = [:], forgiving forgives: (String) -> Bool = { _ in false }
    ) -> SettingsReading {
        let reader = SettingsReader(object, directory: directory)
        for (path, name) in ownFiles { reader.reserve("file", CanonicalPath.of(path), for: name) }
        var settings = Settings()
        settings.read(reader, vocabulary)
        reader.refuseWrittenReferences()
        var findings = reader.findings
        let isLenient = settings.isLenient
        findings.judgeUnknownKeys { isLenient || forgives($0) }
        return SettingsReading(settings, findings)
    }

    mutating func read(_ reader: SettingsReader, _ vocabulary: SettingsVocabulary) {
        readPaths(reader)
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

    private mutating func readPaths(_ reader: SettingsReader) {
        socket = reader.socketPath("socket")
        dataDirectory = reader.filePath("data_dir")
    }

    private mutating func readSections(_ reader: SettingsReader, _ vocabulary: SettingsVocabulary) {
        Settings.table(ownCollectors: vocabulary.collectors).read(reader, into: &self)
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
        refuseEarlyStarts(reader)
        if dispatchers.isEmpty { reader.warn("dispatchers", "", "is empty, so no event is stored") }
    }

    /// Refuses `start` with a store that deletes delivered events, and does not know which dispatcher got an older one
    /// (Behaviour R4).
    private func refuseEarlyStarts(_ reader: SettingsReader) {
        guard storeKind == .sqlite, durability != .memory else { return }
        let holder = reader.reader([:], at: "dispatchers")
        for dispatcher in dispatchers where dispatcher.common.start != .newest {
            holder.fault(
                dispatcher.id, ".start",
                "needs the store of kind log: with a store of kind sqlite a new dispatcher starts at the newest event")
        }
    }

    /// Refuses `formerly` if that dispatcher is still configured, because it keeps its queue (Behaviour Q3).
    private func refuseConfiguredFormers(_ reader: SettingsReader) {
        let holder = reader.reader([:], at: "dispatchers")
        for dispatcher in dispatchers {
            guard let former = dispatcher.common.formerly, former != dispatcher.id, dispatcherIDs.contains(former)
            else { continue }
            holder.fault(dispatcher.id, ".formerly", "`\(former)` is still configured, so its queue is not taken over")
        }
    }

    private mutating func readBarriers(_ reader: SettingsReader, kinds: BarrierKinds) {
        let dispatchers = dispatchers
        reader.entries("barriers", most: Limits.mostBarriers) { id, entry in
            barriers.append(BarrierSettings(id: id, entry, kinds: kinds, dispatchers: dispatchers))
        }
        warnOfIdleKinds(reader, kinds)
    }

    /// Warns of a program's barrier that settings do not name and whose default scopes apply to no dispatcher
    /// (Behaviour B4).
    private func warnOfIdleKinds(_ reader: SettingsReader, _ kinds: BarrierKinds) {
        let holder = reader.reader([:], at: "barriers")
        for kind in kinds.own.sorted() where !barriers.contains(where: { $0.id == kind }) {
            if dispatchers.contains(where: { kinds.stands(kind, before: $0) }) { continue }
            holder.warn(kind, "", "applies by default to no configured dispatcher")
        }
    }

    // MARK: Showing

    /// The sections that have defaults, in the form of a configuration. Reading the object returns the same settings.
    var sections: DataObject { Settings.table(ownCollectors: []).object(self) }
}

/// The keys that have a default.
extension Settings {
    /// - Parameter ownCollectors: the IDs of the program's own collectors, which are keys of `collectors` (Behaviour P2).
    private static func table(ownCollectors: Set<String>) -> SettingsTable<Settings> {
        let collectors = SettingsTable<Settings>.Key(
            name: "collectors",
            read: { reader, settings in
                reader.section("collectors") { settings.collectors.read($0, own: ownCollectors) }
            }, show: { .object($0.collectors.object) })
        return SettingsTable([
            .key("durability", .word, \.durability), .key("lenient", .bool, \.isLenient),
            .key("log_format", .word, \.logFormat), .section("limits", \.limits), .section("access", \.access),
            storeKey, .section("trace", traceTable, \.self),
            .key("shutdown_timeout_ms", .milliseconds(atLeast: 0), \.shutdownTimeout),
            .section("flush_on", \.flushOn), collectors, .section("network", \.network),
        ])
    }

    private static let traceTable = SettingsTable<Settings>([
        .key("remember", .integer(0...EventTrace.most), \.tracedEvents)
    ])

    private static let storeTable = SettingsTable<Settings>(
        [.key("kind", .word, \.storeKind)] + StoreLimits.table.keys.map { $0.within(\.store) }
            + [.optional("encryption", .section(EncryptionSettings.init(_:), \.object), \.encryption)])

    private static let storeKey = SettingsTable<Settings>.Key(
        name: "store",
        read: { reader, settings in
            reader.section("store") { section in
                storeTable.read(section, into: &settings)
                guard settings.storeKind == .sqlite, settings.durability != .memory else { return }
                if section.keys.contains("encryption") {
                    section.fault(
                        "encryption", "", "needs the store of kind log: a store of kind sqlite is not encrypted")
                }
                guard settings.store.retain != nil else { return }
                section.fault(
                    "retain", "", "needs the store of kind log: a store of kind sqlite deletes delivered events")
            }
        }, show: { .object(storeTable.object($0)) })
}

extension DataItem {
    /// A time span in the form of a member whose name ends in `_ms`.
    init(milliseconds duration: Duration) {
        self = .number(DataNumber(Int(duration / .milliseconds(1))))
    }

    /// A time span in the form of a member whose name ends in `_s`.
    init(seconds duration: Duration) {
        self = .number(DataNumber(Int(duration / .seconds(1))))
    }
}

/// The result of reading settings. It has settings only if there is no fault (Behaviour S2).
public struct SettingsReading: Equatable, Sendable {
    /// The settings, or nil if there is a fault.
    public let settings: Settings?
    /// All faults and warnings, not only the first.
    public let findings: SettingsFindings

    init(_ settings: Settings?, _ findings: SettingsFindings) {
        self.settings = findings.faults.isEmpty ? settings : nil
        self.findings = findings
    }

    /// Makes the result of a text that could not be parsed.
    init(fault: SettingsFault) {
        self.init(nil, SettingsFindings(faults: [fault]))
    }

    /// The faults, which prevent the use of the settings. Empty if there are settings.
    public var faults: [SettingsFault] { findings.faults }

    /// The warnings, which do not prevent the use of the settings.
    public var warnings: [SettingsFault] { findings.warnings }

    /// Returns the same result with more warnings.
    func adding(warnings: [SettingsFault]) -> SettingsReading {
        var more = findings
        more.warnings += warnings
        return SettingsReading(settings, more)
    }
}

/// The names that settings may use: those of the service, and those that a program adds.
public struct SettingsVocabulary {
    /// The kinds of barriers.
    public var barrierKinds = BarrierKinds.builtIn
    /// The kinds of dispatchers: the service's, and those that the program adds (Behaviour K5).
    var dispatcherKinds = DispatcherKinds()
    /// The IDs of the program's collectors (Behaviour P2).
    public var collectors: Set<String> = []
    /// The program's load rules, by their IDs. Rules of the same IDs in the settings override them.
    public var loadRules: NameTable<Rule> = [:]
    /// The kinds of the program's transformers.
    public var transformerKinds: Set<String> = []

    public init() {}

    /// The vocabulary of the service alone.
    public static var builtIn: SettingsVocabulary { SettingsVocabulary() }
}

extension SettingsReader {
    /// Reports files that the settings read, like the file of a password, and that a dispatcher would write (Behaviour
    /// K2).
    fileprivate func refuseWrittenReferences() {
        guard directory != nil else { return }
        for reference in references {
            guard case .file(let path) = reference.target else { continue }
            guard let owner = owner(of: "file", CanonicalPath.of(path)) else { continue }
            fault(reference.path, "", "is the file of \(owner)")
        }
    }

    /// Reads the path of a Unix socket.
    func socketPath(_ key: String) -> String? {
        guard let path = filePath(key) else { return nil }
        if path.utf8.count <= UnixAddress.longestPath { return path }
        fault(key, "", "must be a path of at most \(UnixAddress.longestPath) bytes")
        return nil
    }
}
