import HeadgateCore
import HeadgateData
import HeadgateTransport

/// What a server is started with: where its settings come from, and what a program adds to them.
///
///     var configuration = ServerConfiguration(options: options, environment: environment, userID: geteuid())
///     configuration.addBarrier(MaintenanceBarrier.Factory(defaultScopes: [.all]))
///     try server.start(configuration)
public struct ServerConfiguration {
    /// What the command line says.
    public var options: DaemonOptions
    /// The process's environment.
    public var environment: [String: String]
    /// The user that the process runs as.
    public var userID: UInt32
    /// Listening sockets that a service manager has opened; without any the server opens its own.
    public var inherited: [Int32]
    /// A Boolean value that says whether clients come in over a socket. Without one the program's own events
    /// (``Server/track(_:)``) are all that the server gets; `inherited` is not used then.
    public var opensSocket = true
    /// Reads a configuration file at the start.
    var readFile: (String) throws(SettingsFault) -> DataObject = SettingsFile.read
    /// Reads a configuration file at a reload.
    var readFileAgain: (String) throws(SettingsFault) -> DataObject = SettingsFile.readAtOnce
    /// The disk with the file of persisted settings.
    var settingsDisk: any Disk = SystemDisk()
    /// Makes the event store, where a program brings its own (Behaviour Q1); it lives on the scheduler. Without it there is
    /// the one that `durability` asks for.
    public var makeStore: ((any Scheduler) -> any EventStore)?
    /// Settings of the program's own, in the words of a configuration file: what the programmatic layer begins with
    /// (Behaviour S1). They win over the file and the remote layer; what `config.set` says wins over them.
    public var settings: DataObject = [:]
    /// Gets every line of the log, in place of standard error. It is called from several threads, and while it runs the
    /// server waits: hand the entry on.
    public var onLog: (@Sendable (LoggedLine) -> Void)?
    /// Called once the server stands behind its socket, before any client is served: for barriers that come and go while
    /// the service runs (Behaviour B8), for boards, and whatever else a program does with it.
    public var onStart: (StartedServer) throws -> Void = { _ in }

    /// Barriers of the program's own.
    private(set) var factories: [any BarrierFactory] = []
    /// Collectors of the program's own.
    private(set) var collectors: [any Collector] = []
    /// What makes the program's own transformers.
    private(set) var transformerFactories: [any TransformerFactory] = []
    /// What settings may name.
    private(set) var vocabulary = SettingsVocabulary.builtIn

    public init(options: DaemonOptions, environment: [String: String], userID: UInt32, inherited: [Int32] = []) {
        self.options = options
        self.environment = environment
        self.userID = userID
        self.inherited = inherited
    }

    /// Adds a kind of barrier, and one barrier of it under the kind's name. Only its scopes are told here; all else comes
    /// from settings (Behaviour B5).
    public mutating func addBarrier(_ factory: some BarrierFactory) {
        factories.append(factory)
        vocabulary.barrierKinds.add(factory)
    }

    /// Adds a kind of dispatcher (Behaviour K5), for `dispatchers` in the settings to name. A kind of the service's own
    /// cannot be replaced.
    public mutating func addDispatcherKind(_ kind: some DispatcherKind) {
        vocabulary.dispatcherKinds.add(kind)
    }

    /// Adds a collector (Behaviour P2), which comes after the service's own and those added before it.
    public mutating func addCollector(_ collector: some Collector) {
        collectors.append(collector)
        vocabulary.collectors.insert(collector.id)
    }

    /// Names a load rule (Behaviour S5), for `load_rule`, `when` and other rules of the settings to refer to like one in
    /// `load_rules`. One of the same id there takes its place for as long as it is there.
    public mutating func setLoadRule(_ rule: Rule, forId id: String) {
        vocabulary.loadRules[id] = rule
    }

    /// Adds a kind of transformer (Behaviour P4), for entries of `transformations` to name.
    public mutating func addTransformerKind(_ factory: some TransformerFactory) {
        transformerFactories.append(factory)
        vocabulary.transformerKinds.insert(factory.kind)
    }

    /// Puts a barrier before boards, whatever they say of themselves, or exempts some from what others say (Behaviour A7).
    /// It is a part of ``settings``, and checked with them at the start.
    /// - Parameter pattern: a board's name, or a prefix and `*`.
    public mutating func setGateway(_ rule: GatewayRules.Rule, before pattern: String) {
        settings = settings.patched(with: ["gateway": ["rules": .object(DataObject([(pattern, rule.setting)]))]])
    }

    var logTarget: LogOutput.Target { onLog.map { .hook($0) } ?? .standardError }

    /// What counts where there is no configuration file.
    var withoutFile: DataObject {
        settings["dispatchers"] == nil ? DefaultConfiguration.object : [:]
    }

    /// Finds what is wrong with the settings of all layers and with the places, as a start would: the faults are those that a
    /// start refuses (Behaviour S2).
    public func check() -> SettingsFindings {
        switch read() {
        case .success(let loaded): SettingsFindings(warnings: loaded.warnings)
        case .failure(let refused): refused.findings
        }
    }

    /// Reads the settings of all layers and finds the places, before anything is opened (Behaviour S1).
    /// - Parameter warn: gets each fault that the settings can be used in spite of.
    func load(warn: (SettingsFault) -> Void = { _ in }) throws(StartFault) -> LoadedSettings {
        switch read() {
        case .success(let loaded):
            for warning in loaded.warnings { warn(warning) }
            return loaded
        case .failure(let refused):
            throw StartFault(refused.findings.faults.map(\.description).joined(separator: "\n"))
        }
    }

    /// The form of the log that the configuration file names, also if the file has faults otherwise.
    var writtenLogFormat: LogFormat {
        guard let path = options.configuration, let file = try? readFile(path) else { return .text }
        return file.get(key: "log_format", as: String.self).flatMap(LogFormat.init) ?? .text
    }

    private func read() -> Result<LoadedSettings, RefusedSettings> {
        let file: DataObject
        do throws(SettingsFault) { file = try options.configuration.map(readFile) ?? withoutFile } catch {
            return .failure(RefusedSettings(findings: SettingsFindings(faults: [error])))
        }
        let own = file.patched(with: settings)
        do throws(SettingsFault) {
            var places = try Places.find(options: options, settings: own, environment: environment, userID: userID)
            // A socket that is inherited is where its maker has put it.
            if let first = inherited.first { places.socket = SocketActivation.path(of: first) ?? places.socket }
            if !opensSocket { places.socket = nil }
            return read(file, places, try persisted(places))
        } catch {
            // All faults are reported, not only that there is no place for the data.
            var findings = Settings.read(own, vocabulary: vocabulary).findings
            findings.faults.insert(error, at: 0)
            return .failure(RefusedSettings(findings: findings))
        }
    }

    private func read(
        _ file: DataObject, _ places: Places, _ persisted: DataObject?
    ) -> Result<LoadedSettings, RefusedSettings> {
        let source = file.patched(with: settings).patched(with: persisted ?? [:])["remote"]
        let url = source.flatMap(DataObject.init(dataItem:))?.get(key: "url", as: String.self)
        let copy = url.flatMap { RemoteSettingsCopy(directory: places.dataDirectory).read(url: $0) }
        let start = StartSettings(
            check: settingsCheck(places), file: file, program: settings, remote: copy?.settings,
            persisted: persisted ?? [:])
        let (outcome, found) = (start.resolve(), places.findings)
        guard let settings = outcome.reading.settings, found.faults.isEmpty else {
            var findings = found
            findings.add(outcome.reading.findings)
            return .failure(RefusedSettings(findings: findings))
        }
        var loaded = LoadedSettings(
            layers: outcome.layers, reading: outcome.reading, settings: settings, places: places,
            persisted: persisted ?? [:], leftOut: outcome.leftOut, refusedRemote: outcome.refusedRemote)
        loaded.startWarnings = outcome.warnings + found.warnings
        if persisted == nil {
            loaded.startWarnings.append(
                SettingsFault(path: "", message: "what config.set persisted cannot be read, and is left out"))
        }
        return .success(loaded)
    }

    /// Reads the persisted settings; nil if they are damaged.
    private func persisted(_ places: Places) throws(SettingsFault) -> DataObject? {
        do throws(DiskFault) {
            return try PersistedSettings(directory: places.dataDirectory, on: settingsDisk).read()
        } catch {
            let message = error.storeFault("what config.set persisted cannot be read").message
            throw SettingsFault(path: "", message: message)
        }
    }

    /// The check of settings while the service keeps its data at these places.
    func settingsCheck(_ places: Places) -> SettingsCheck {
        SettingsCheck(vocabulary: vocabulary, environment: environment, dataDirectory: places.dataDirectory)
    }
}

/// Settings that a start refuses.
private struct RefusedSettings: Error {
    /// Its faults are not empty.
    var findings: SettingsFindings
}

/// Settings as a start found them.
struct LoadedSettings {
    var layers: SettingsLayers
    var reading: SettingsReading
    var settings: Settings
    var places: Places
    /// The settings that `config.set` persisted, with the parts that were left out.
    var persisted: DataObject = [:]
    /// The persisted parts that are not in force.
    var leftOut: [LeftOutSettings] = []
    /// The remote settings, if they do not fit the other layers.
    var refusedRemote: DataObject?
    /// Warnings of the start, apart from those of the settings in force.
    var startWarnings: [SettingsFault] = []

    /// All warnings.
    var warnings: [SettingsFault] { startWarnings + reading.warnings }
}

/// Makes the transformers of one kind that a program brings (Behaviour P4, S6). An entry of `transformations` names the kind,
/// and has its place and its events like those that come with the service:
///
///     "transformations": [
///         {"id": "till", "kind": "mask", "scopes": ["dispatcher:collect"], "when": "is_sale", "configuration": {"keep": 4}}
///     ]
public protocol TransformerFactory {
    /// The kind's name, as `kind` in the settings takes it.
    var kind: String { get }
    /// Makes the transformer of one entry: at the start, and again when its kind or its configuration changes.
    /// - Parameters:
    ///   - id: the entry's `id`, or its place in the list, like `[0]`.
    ///   - configuration: the object `configuration` of the entry, empty where there is none.
    ///   - scheduler: where all of the transformer is called.
    /// - Throws: anything; at the start it ends the start, later the change is refused with it (Behaviour S2).
    func makeTransformer(
        transformation id: String, configuration: DataObject, on scheduler: any Scheduler
    ) throws -> any Transformer
}
