import HeadgateCore
import HeadgateData

/// A kind of dispatchers: reads its settings and makes its senders (Behaviour K1 to K6). The service handles queue,
/// barriers, retries and dead letters in the same way for all kinds.
///
/// `DispatcherKinds.builtIn` has the service's own kinds. A program adds its own with
/// ``ServerConfiguration/addDispatcherKind(_:)``. Settings name both in the same way:
///
///     "dispatchers": {"book": {"kind": "ledger", "dispatch_limit": 10, "configuration": {"book": 7}}}
public protocol DispatcherKind {
    /// The settings of this kind beyond those that all kinds have. When they change, the dispatcher gets a new sender.
    associatedtype Settings: Sendable, Equatable

    /// The kind's name, the value of `kind` in the settings.
    var name: String { get }

    /// Reads the kind's part of an entry of `dispatchers`.
    ///
    /// A wrong value becomes a fault of the reader and reads as absent. A key that this method does not read is unknown
    /// (Behaviour S2). The reader warns of missing files and environment variables if they are read as such. Values
    /// that are read as secrets are hidden wherever settings are shown (Behaviour X4).
    /// - Parameter common: the settings that all kinds have, already read. The kind may change their defaults.
    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> Settings

    /// Returns true if the dispatcher reaches its destination over a network, so that the ConnectivityBarrier applies.
    /// The loopback interface, Unix sockets and files are no network (Behaviour B20).
    func reachesNetwork(_ settings: Settings) -> Bool

    /// Makes the sender of one dispatcher. It is called at the start, and again when the dispatcher's settings change.
    /// - Throws: any error. At the start it ends the start. Later it refuses the change of the settings (Behaviour S2).
    func makeSender(
        of dispatcher: String, _ settings: Settings, in context: SenderContext
    ) throws -> any Sender
}

/// The settings of one dispatcher's kind, with the kind's name.
struct KindSettings: Sendable, Equatable {
    let kind: String
    /// The settings that the kind has read.
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
    /// Reads the kind's part of an entry.
    func settings(_ entry: SettingsReader, common: inout DispatcherSettings) -> KindSettings {
        KindSettings(self, read(entry, common: &common))
    }
}
