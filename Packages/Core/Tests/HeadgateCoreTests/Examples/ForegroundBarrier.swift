import HeadgateCore
import HeadgateData

/// Blocks dispatches while the application is in the background.
final class ForegroundBarrier: ConfigurableBarrier {
    static let id = "ForegroundBarrier"

    @StateSubject(.open)
    private var state: ObservableState<BarrierState>

    private var status: ApplicationStatus?
    private var blockInBackground: Bool
    private var subscription: (any Disposable)?

    init(onApplicationStatus: Observable<ApplicationStatus?>, configuration: DataObject) {
        blockInBackground = configuration.get(key: "block_in_background") ?? true
        subscription = onApplicationStatus.subscribe { [weak self] status in
            self?.status = status
            self?.updateState()
        }
    }

    deinit {
        subscription?.dispose()
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    func updateConfiguration(_ configuration: DataObject) {
        blockInBackground = configuration.get(key: "block_in_background") ?? true
        updateState()
    }

    private func updateState() {
        _state.value = blockInBackground && status == .background ? .closed : .open
    }
}
