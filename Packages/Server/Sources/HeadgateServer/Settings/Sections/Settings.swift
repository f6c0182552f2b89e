import HeadgateCore
import HeadgateData

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
    /// How much is kept, and how long (Behaviour Q4).
    public var store = StoreLimits()
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

    /// What is in force where a configuration says nothing; no dispatcher and no barrier.
    public init() {}

    /// The dispatchers' names, in the order of the configuration.
    public var dispatcherIDs: [String] {
        dispatchers.map(\.id)
    }
}
