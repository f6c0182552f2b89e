import HeadgateCore
import HeadgateData

/// A kind of dispatchers: what its settings are, and how its senders are made (Behaviour K1 to K6). Queue, barriers,
/// retries and dead letters are the service's, the same for all kinds.
///
/// Those that come with the service are in `DispatcherKinds.builtIn`; a program adds its own with
/// ``ServerConfiguration/addDispatcherKind(_:)``, and settings name both alike:
///
///     "dispatchers": {"book": {"kind": "ledger", "dispatch_limit": 10, "configuration": {"book": 7}}}
public protocol DispatcherKind {
    /// What one dispatcher of the kind is told beyond what all are. Where that changes, the dispatcher gets a new sender.
    associatedtype Settings: Sendable, Equatable

    /// The kind's name, as `kind` in the settings takes it.
    var name: String { get }

    /// Reads an entry of `dispatchers`, but for what all kinds have. What is wrong is noted with the reader and read as
    /// if it were absent; a key that is not asked for is unknown (Behaviour S2). Files and environment variables that the
    /// reader is asked for as such are warned of where they are missing, and what it is asked for as a secret is blanked
    /// wherever settings are shown (Behaviour X4).
    /// - Parameter common: what all kinds have, read already; the kind may have other defaults.
    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> Settings

    /// Whether the destination is on the other side of a network, so that the ConnectivityBarrier holds the dispatcher:
    /// neither this machine's loopback nor a Unix socket nor a file (Behaviour B20).
    func reachesNetwork(_ settings: Settings) -> Bool

    /// Makes the sender of one dispatcher: at the start, and again when its settings change.
    /// - Throws: anything; at the start it ends the start, later the change is refused with it (Behaviour S2).
    func makeSender(
        of dispatcher: String, _ settings: Settings, in surroundings: SenderSurroundings
    ) throws -> any Sender
}

/// The kinds of dispatchers that settings may name.
struct DispatcherKinds {
    /// Those that come with the service. A new one is a line here, and a folder beside this file.
    static var builtIn: [any DispatcherKind] { [HTTPKind(), FileKind(), WorkerKind(), NATSKind(), KafkaKind()] }

    private(set) var all = DispatcherKinds.builtIn

    var names: [String] { all.map(\.name) }

    /// Adds a kind of a program's; one of the service's own cannot be replaced.
    mutating func add(_ kind: some DispatcherKind) {
        guard !DispatcherKinds.builtIn.contains(where: { $0.name == kind.name }) else { return }
        all.removeAll { $0.name == kind.name }
        all.append(kind)
    }

    func kind(named name: String) -> (any DispatcherKind)? {
        all.first { $0.name == name }
    }
}

/// What a dispatcher of some kind was told, with the kind's name.
struct KindSettings: Sendable, Equatable {
    let kind: String
    /// What the kind has read.
    let settings: any Sendable & Equatable
    let reachesNetwork: Bool

    init<Kind: DispatcherKind>(_ kind: Kind, _ settings: Kind.Settings) {
        self.kind = kind.name
        self.settings = settings
        reachesNetwork = kind.reachesNetwork(settings)
    }

    static func == (one: KindSettings, other: KindSettings) -> Bool {
        one.kind == other.kind && one.settings.isEqual(to: other.settings)
    }
}

extension Equatable {
    fileprivate func isEqual(to other: Any) -> Bool {
        (other as? Self) == self
    }
}

extension DispatcherKind {
    /// Reads an entry of this kind.
    func settings(_ entry: SettingsReader, common: inout DispatcherSettings) -> KindSettings {
        KindSettings(self, read(entry, common: &common))
    }

    /// Makes the sender of a dispatcher of this kind.
    func makeSender(of dispatcher: ConfiguredDispatcher, in surroundings: SenderSurroundings) throws -> any Sender {
        guard let settings = dispatcher.kind.settings as? Settings else {
            preconditionFailure("settings are read by the kind that makes the sender")
        }
        return try makeSender(of: dispatcher.id, settings, in: surroundings)
    }
}
