import HeadgateCore
import HeadgateData
import HeadgateEncryption
import HeadgateTransport

/// The configuration that a server starts with: the sources of its settings, and the parts that a program adds.
///
///     var configuration = ServerConfiguration(options: options, environment: environment, userID: geteuid())
///     configuration.addBarrier(MaintenanceBarrier.Factory(defaultScopes: [.all]))
///     try server.start(configuration)
public struct ServerConfiguration {
    /// The options of the command line.
    public var options: DaemonOptions
    /// The process's environment.
    public var environment: [String: String]
    /// The user that the process runs as.
    public var userID: UInt32
    /// Listening sockets from a service manager. If there are none, the server opens its own socket.
    public var inherited: [Int32]
    /// A Boolean value that says whether clients connect over a socket. If false, the server gets only the program's
    /// own events (``Server/track(_:data:id:key:time:dispatchers:timeToLive:)``), and `inherited` is not used.
    public var opensSocket = true
    /// Reads a configuration file at the start.
    var readFile: (String) throws(SettingsFault) -> DataObject = SettingsFile.read
    /// Reads a configuration file at a reload.
    var readFileAgain: (String) throws(SettingsFault) -> DataObject = SettingsFile.readAtOnce
    /// The disk that holds the file of persisted settings.
    var settingsDisk: any Disk = SystemDisk()
    /// Makes the program's own event store (Behaviour Q1), which lives on the scheduler. If nil, `durability` selects
    /// one of the service's stores.
    public var makeStore: ((any Scheduler) -> any EventStore)?
    /// The program's own settings, in the form of a configuration file. They are the start of the programmatic layer
    /// (Behaviour S1). They override the file and the remote layer, and `config.set` overrides them.
    public var settings: DataObject = [:]
    /// Gets every line of the log instead of standard error. The server waits while the closure runs, so it should pass
    /// the line on. It is called on several threads.
    public var onLog: (@Sendable (LoggedLine) -> Void)?
    /// Called when the socket is open and before any client is served. A program uses it to register barriers
    /// (Behaviour B8) and to serve boards.
    public var onStart: (StartedServer) throws -> Void = { _ in }

    /// The program's own kinds of barriers.
    private(set) var factories: [any BarrierFactory] = []
    /// The program's own collectors.
    private(set) var collectors: [any Collector] = []
    /// The program's own kinds of transformers.
    private(set) var transformerFactories: [any TransformerFactory] = []
    /// The kinds, collectors and rules that settings may name.
    private(set) var vocabulary = SettingsVocabulary.builtIn

    public init(options: DaemonOptions, environment: [String: String], userID: UInt32, inherited: [Int32] = []) {
        self.options = options
        self.environment = environment
        self.userID = userID
        self.inherited = inherited
    }

    /// Adds a kind of barrier, and one barrier of that kind under its name. The factory sets only the barrier's scopes,
    /// and settings set everything else (Behaviour B5).
    public mutating func addBarrier(_ factory: some BarrierFactory) {
        factories.append(factory)
        vocabulary.barrierKinds.add(factory)
    }

    /// Adds a kind of dispatcher (Behaviour K5) that `dispatchers` in the settings may name. It cannot replace one of
    /// the service's own kinds.
    public mutating func addDispatcherKind(_ kind: some DispatcherKind) {
        vocabulary.dispatcherKinds.add(kind)
    }

    /// Adds a collector (Behaviour P2). It runs after the service's own collectors and after those added before.
    public mutating func addCollector(_ collector: some Collector) {
        collectors.append(collector)
        vocabulary.collectors.insert(collector.id)
    }

    /// Adds a load rule (Behaviour S5) that `load_rule`, `when` and other rules of the settings may name. A rule with
    /// the same ID in `load_rules` overrides it.
    public mutating func setLoadRule(_ rule: Rule, forId id: String) {
        vocabulary.loadRules[id] = rule
    }

    /// Adds a kind of transformer (Behaviour P4), for entries of `transformations` to name.
    public mutating func addTransformerKind(_ factory: some TransformerFactory) {
        transformerFactories.append(factory)
        vocabulary.transformerKinds.insert(factory.kind)
    }

    /// Sets the gateway rule of some boards: a barrier before them, or an exemption from other rules (Behaviour A7).
    /// The rule becomes a part of ``settings``, which the start checks.
    /// - Parameter pattern: a board's name, or a prefix and `*`.
    public mutating func setGateway(_ rule: GatewayRules.Rule, before pattern: String) {
        settings = settings.patched(with: ["gateway": ["rules": .object(DataObject([(pattern, rule.setting)]))]])
    }

    var logTarget: LogOutput.Target { onLog.map { .hook($0) } ?? .standardError }

    /// The settings that apply if there is no configuration file.
    var defaultsWithoutFile: DataObject {
        settings["dispatchers"] == nil ? DefaultConfiguration.object : [:]
    }

    /// Checks the settings of all layers and the paths without starting. It finds the same faults that a start refuses
    /// (Behaviour S2).
    public func check() -> SettingsFindings {
        switch read() {
        case .success(let loaded): SettingsFindings(warnings: loaded.warnings)
        case .failure(let refused): refused.findings
        }
    }

    /// Returns the verification of a data directory, with the keys that the configuration file names (Behaviour C3).
    public func verification(of directory: String) throws(StartFault) -> DirectoryVerification {
        guard let path = options.configuration else { return DirectoryVerification(directory: directory) }
        let file: DataObject
        do throws(SettingsFault) { file = try readFile(path) } catch { throw StartFault(error.description) }
        return DirectoryVerification(directory: directory, keyring: try keyring(file.patched(with: settings)))
    }

    /// Returns the keys that settings name; nil if they name none.
    private func keyring(_ settings: DataObject) throws(StartFault) -> Keyring? {
        let store = settings.get(key: "store", as: DataObject.self)
        guard let section = store?.get(key: "encryption", as: DataObject.self) else { return nil }
        let reader = SettingsReader(section)
        // The reading of all settings reports the faults of the section.
        guard let found = EncryptionSettings(reader) else { return nil }
        return Keyring(try found.keys(environment), encrypts: found.isOn)
    }

    /// Reads the settings of all layers and finds the paths, before anything is opened (Behaviour S1).
    /// - Parameter warn: called with each fault that does not prevent the start.
    func load(warn: (SettingsFault) -> Void = { _ in }) throws(StartFault) -> LoadedSettings {
        switch read() {
        case .success(let loaded):
            for warning in loaded.warnings { warn(warning) }
            return loaded
        case .failure(let refused):
            throw StartFault(refused.findings.faults.map(\.description).joined(separator: "\n"))
        }
    }

    /// The log format in the configuration file, even if the file has other faults. It is `text` for a pipe, because
    /// the start has already read the pipe to its end.
    var writtenLogFormat: LogFormat {
        guard let path = options.configuration, let file = try? readFileAgain(path) else { return .text }
        return file.get(key: "log_format", as: String.self).flatMap(LogFormat.init) ?? .text
    }

    private func read() -> Result<LoadedSettings, RefusedSettings> {
        let file: DataObject
        do throws(SettingsFault) { file = try options.configuration.map(readFile) ?? defaultsWithoutFile } catch {
            return .failure(RefusedSettings(findings: SettingsFindings(faults: [error])))
        }
        let own = file.patched(with: settings)
        do throws(SettingsFault) {
            var paths = try DaemonPaths.find(options: options, settings: own, environment: environment, userID: userID)
            // An inherited socket has the path that its creator gave it.
            if let first = inherited.first { paths.socket = SocketActivation.path(of: first) ?? paths.socket }
            if !opensSocket { paths.socket = nil }
            let keyring: Keyring?
            do throws(StartFault) { keyring = try self.keyring(own) } catch {
                throw SettingsFault(path: error.path, message: error.message)
            }
            return read(file, paths, try persisted(paths, keyring), keyring)
        } catch {
            // Reports the faults of the settings too, not only the missing path.
            var findings = Settings.read(own, vocabulary: vocabulary).findings
            findings.faults.insert(error, at: 0)
            return .failure(RefusedSettings(findings: findings))
        }
    }

    private func read(
        _ file: DataObject, _ paths: DaemonPaths, _ persisted: DataObject?, _ keyring: Keyring?
    ) -> Result<LoadedSettings, RefusedSettings> {
        let source = file.patched(with: settings).patched(with: persisted ?? [:])["remote"]
        let url = source.flatMap(DataObject.init(dataItem:))?.get(key: "url", as: String.self)
        let copy = url.flatMap { RemoteSettingsCopy(directory: paths.dataDirectory, keyring: keyring).read(url: $0) }
        let start = StartSettings(
            check: settingsCheck(paths), file: file, program: settings, remote: copy?.settings,
            persisted: persisted ?? [:])
        let (outcome, found) = (start.resolve(), paths.findings)
        guard let settings = outcome.reading.settings, found.faults.isEmpty else {
            var findings = found
            findings.add(outcome.reading.findings)
            return .failure(RefusedSettings(findings: findings))
        }
        var loaded = LoadedSettings(
            layers: outcome.layers, reading: outcome.reading, settings: settings, paths: paths,
            persisted: persisted ?? [:], leftOut: outcome.leftOut, refusedRemote: outcome.refusedRemote,
            remoteFaults: outcome.remoteFaults)
        loaded.keyring = keyring
        loaded.startWarnings = outcome.warnings + found.warnings
        if persisted == nil {
            loaded.startWarnings.append(
                SettingsFault(
                    path: "", message: "the settings persisted with config.set cannot be read and are ignored"))
        }
        return .success(loaded)
    }

    /// Reads the persisted settings. Returns nil if the file is damaged.
    private func persisted(_ paths: DaemonPaths, _ keyring: Keyring?) throws(SettingsFault) -> DataObject? {
        let file = PersistedSettings(directory: paths.dataDirectory, on: settingsDisk, keyring: keyring)
        let (settings, missingKey): (DataObject?, String?)
        do throws(DiskFault) { (settings, missingKey) = (try file.read(), try file.missingKey()) } catch {
            let message = error.storeFault("the settings persisted with config.set cannot be read").message
            throw SettingsFault(path: "", message: message)
        }
        if let missingKey { throw SettingsFault(path: "store.encryption", message: missingKey) }
        return settings
    }

    /// Returns the check of settings for a service with these paths.
    func settingsCheck(_ paths: DaemonPaths) -> SettingsCheck {
        var check = SettingsCheck(
            vocabulary: vocabulary, environment: environment, dataDirectory: paths.dataDirectory)
        if let path = options.configuration { check.ownFiles[path] = "the daemon's configuration" }
        if let path = paths.socket { check.ownFiles[path] = "the daemon's socket" }
        return check
    }
}

/// Settings that a start refuses.
private struct RefusedSettings: Error {
    /// The faults and warnings. There is at least one fault.
    var findings: SettingsFindings
}

/// The settings and paths that a start found.
struct LoadedSettings {
    var layers: SettingsLayers
    var reading: SettingsReading
    var settings: Settings
    var paths: DaemonPaths
    /// The settings that `config.set` persisted, including the parts that do not apply.
    var persisted: DataObject = [:]
    /// The persisted parts that do not apply, with the reason.
    var leftOut: [LeftOutSettings] = []
    /// The remote settings, if they contradict the other layers. Nil otherwise.
    var refusedRemote: DataObject?
    /// The faults of the refused remote settings.
    var remoteFaults: [SettingsFault] = []
    /// The keys of the data directory, or nil if nothing is encrypted (Behaviour C1).
    var keyring: Keyring?
    /// Warnings of the start, apart from those of the settings in force.
    var startWarnings: [SettingsFault] = []

    /// All warnings.
    var warnings: [SettingsFault] { startWarnings + reading.warnings }
}

/// Makes transformers of a kind that a program adds (Behaviour P4, S6). An entry of `transformations` names the kind.
/// The entry's order and scopes work as with the service's own kinds:
///
///     "transformations": [
///         {"id": "till", "kind": "mask", "scopes": ["dispatcher:collect"], "when": "is_sale", "configuration": {"keep": 4}}
///     ]
public protocol TransformerFactory {
    /// The kind's name, the value of `kind` in the settings.
    var kind: String { get }
    /// Makes the transformer of one entry. It is called at the start, and again when the entry's kind or configuration
    /// changes.
    /// - Parameters:
    ///   - id: the entry's `id`, or its index in the list, like `[0]`.
    ///   - configuration: the entry's object `configuration`, empty if there is none.
    ///   - scheduler: the scheduler on which the transformer is called.
    /// - Throws: any error. At the start it ends the start. Later it refuses the change of the settings (Behaviour S2).
    func makeTransformer(
        transformation id: String, configuration: DataObject, on scheduler: any Scheduler
    ) throws -> any Transformer
}
