import HeadgateData

/// A barrier that blocks dispatchers while every client that has reported a status is in the background (Behaviour
/// B26). It is open if no client has reported one. It is flushable.
public final class ApplicationStatusBarrier: ConfigurableBarrier, DescribedBarrier, BarrierJSON {
    public static let id = "ApplicationStatusBarrier"
    static let word = "application_status"

    private var settings: ApplicationStatusSettings
    private var status: ApplicationStatus?
    @StateSubject(.open) private var state: ObservableState<BarrierState>
    private var subscription: (any Disposable)?

    init(context: BarrierContext, configuration: DataObject) throws {
        settings = try ApplicationStatusSettings(configuration)
        subscription = context.applicationStatus.subscribe { [weak self] status in
            self?.status = status
            self?.judge()
        }
    }

    deinit {
        subscription?.dispose()
    }

    public func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    public func updateConfiguration(_ configuration: DataObject) throws {
        settings = try ApplicationStatusSettings(configuration)
        judge()
    }

    public func reason(for dispatcherId: String) -> String? {
        state.value == .closed ? "every client is in the background" : nil
    }

    private func judge() {
        _state.value = settings.blockInBackground && status == .background ? .closed : .open
    }

    /// A factory of application status barriers. By default they apply to all dispatchers.
    public struct Factory: BarrierFactory {
        private let scopes: [BarrierScope]

        public init(defaultScopes: [BarrierScope] = [.all]) {
            scopes = defaultScopes
        }

        public func check(_ configuration: SettingsReader, timeZone: (String?) -> TimeZoneRules?) {
            _ = ApplicationStatusSettings(reading: configuration)
        }

        public func create(context: BarrierContext, configuration: DataObject) throws -> ApplicationStatusBarrier {
            try ApplicationStatusBarrier(context: context, configuration: configuration)
        }

        public func defaultScopes() -> [BarrierScope] { scopes }
    }
}

/// The settings of an application status barrier.
public struct ApplicationStatusSettings: BarrierConfiguration, Equatable {
    /// True if the barrier closes when all clients are in the background.
    public var blockInBackground = true

    /// Reads `{block_in_background}`.
    public init(reading reader: SettingsReader) {
        blockInBackground = reader.bool("block_in_background") ?? blockInBackground
    }
}
