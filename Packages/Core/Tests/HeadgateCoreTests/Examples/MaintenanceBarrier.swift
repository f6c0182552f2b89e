import HeadgateCore
import HeadgateData

/// Blocks every dispatcher during maintenance, and on sites that the service must not send from.
final class MaintenanceBarrier: ConfigurableBarrier {
    static let id = "MaintenanceBarrier"

    @StateSubject(.open)
    private var state: ObservableState<BarrierState>

    private let site: String
    private var settings: MaintenanceSettings

    init(site: String, configuration: DataObject) {
        self.site = site
        settings = MaintenanceSettings(configuration)
        updateState()
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    func updateConfiguration(_ configuration: DataObject) {
        settings = MaintenanceSettings(configuration)
        updateState()
    }

    private func updateState() {
        let isHeld = settings.maintenance || !settings.clearedSites.contains(site)
        _state.value = isHeld ? .closed : .open
    }

    // A flush must not bypass a business rule.
    var isFlushable: Observable<Bool> {
        Observables.just(false)
    }
}

struct MaintenanceSettings {
    let maintenance: Bool
    let clearedSites: [String]

    init(_ configuration: DataObject) {
        maintenance = configuration.get(key: "maintenance") ?? false
        clearedSites = configuration.getArray(key: "cleared_sites", of: String.self)?.compactMap { $0 } ?? []
    }
}
