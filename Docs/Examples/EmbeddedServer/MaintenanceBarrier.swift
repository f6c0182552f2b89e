import Glibc
import HeadgateCore
import HeadgateData

/// Holds dispatchers while a file exists: `touch maintenance` closes it, `rm maintenance` opens it.
final class MaintenanceBarrier: ConfigurableBarrier, DescribedBarrier {
    static let id = "MaintenanceBarrier"

    @StateSubject(.open) private var state: ObservableState<BarrierState>
    private var file: String?
    private var timer: RepeatingTimer?

    init(context: BarrierContext, configuration: DataObject) {
        updateConfiguration(configuration)
        timer = RepeatingTimer(interval: .milliseconds(200), queue: context.queue) { [weak self] in self?.evaluate() }
        timer?.resume()
    }

    deinit {
        timer?.suspend()
    }

    func updateConfiguration(_ configuration: DataObject) {
        file = configuration.get(key: "file")
        evaluate()
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    // The operator decides when maintenance is over, so no flush passes this barrier.
    var isFlushable: Observable<Bool> {
        Observables.just(false)
    }

    func reason(for dispatcherId: String) -> String? {
        state.value == .closed ? file.map { "\($0) exists" } : nil
    }

    private func evaluate() {
        let new: BarrierState = file.map { access($0, F_OK) == 0 } == true ? .closed : .open
        if new != state.value { _state.value = new }
    }

    struct Factory: BarrierFactory {
        func create(context: BarrierContext, configuration: DataObject) -> MaintenanceBarrier {
            MaintenanceBarrier(context: context, configuration: configuration)
        }
    }
}
