import HeadgateData

/// A barrier that blocks dispatchers while the machine has no network connection, or only one of the wrong kind
/// (Behaviour B20).
public final class ConnectivityBarrier: ConfigurableBarrier, UncertainBarrier, DescribedBarrier, BarrierJSON {
    public static let id = "ConnectivityBarrier"
    static let word = "connectivity"

    private var settings: ConnectivitySettings
    private var network = NetworkState.unknown
    @StateSubject(.unknown) private var finding: ObservableState<BarrierFinding>
    @StateSubject(false) private var flushability: ObservableState<Bool>
    private var subscription: (any Disposable)?

    init(context: BarrierContext, configuration: DataObject) throws {
        settings = try ConnectivitySettings(configuration)
        subscription = context.network.subscribe { [weak self] network in
            self?.network = network
            self?.judge()
        }
    }

    deinit {
        subscription?.dispose()
    }

    public func onFinding(for dispatcherId: String) -> Observable<BarrierFinding> {
        finding
    }

    /// The barrier is flushable while there is any connection.
    public var isFlushable: Observable<Bool> {
        flushability
    }

    public func updateConfiguration(_ configuration: DataObject) throws {
        settings = try ConnectivitySettings(configuration)
        judge()
    }

    public func reason(for dispatcherId: String) -> String? {
        switch network {
        case .unknown: "the state of the network connection is unknown"
        case .disconnected: "no network connection"
        case .connected(let kind): settings.allows(kind) ? nil : "the network connection is \(kind.rawValue)"
        }
    }

    private func judge() {
        _flushability.value = network.kind != nil
        switch network {
        case .unknown: _finding.value = .unknown
        case .disconnected: _finding.value = .state(.closed)
        case .connected(let kind): _finding.value = .state(settings.allows(kind) ? .open : .closed)
        }
    }

    /// A factory of connectivity barriers.
    public struct Factory: BarrierFactory {
        private let scopes: () -> [BarrierScope]

        public init(defaultScopes: [BarrierScope]) {
            scopes = { defaultScopes }
        }

        /// Creates a factory whose default scopes change, like those of the dispatchers that reach the network.
        init(following scopes: @escaping () -> [BarrierScope]) {
            self.scopes = scopes
        }

        public func check(_ configuration: SettingsReader, timeZone: (String?) -> TimeZoneRules?) {
            _ = ConnectivitySettings(reading: configuration)
        }

        public func create(context: BarrierContext, configuration: DataObject) throws -> ConnectivityBarrier {
            try ConnectivityBarrier(context: context, configuration: configuration)
        }

        public func defaultScopes() -> [BarrierScope] { scopes() }
    }
}

/// The settings of a connectivity barrier.
public struct ConnectivitySettings: BarrierConfiguration, Equatable {
    /// True if only Wi-Fi and Ethernet are sufficient.
    public var wifiOnly = false

    /// Reads `{wifi_only}`.
    public init(reading reader: SettingsReader) {
        wifiOnly = reader.bool("wifi_only") ?? wifiOnly
    }

    func allows(_ kind: ConnectionKind) -> Bool {
        !wifiOnly || kind == .wifi || kind == .ethernet
    }
}
