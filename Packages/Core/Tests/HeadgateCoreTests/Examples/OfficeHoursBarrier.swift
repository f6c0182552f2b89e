import HeadgateCore
import HeadgateData

/// Open between two hours of the day, in UTC.
final class OfficeHoursBarrier: ConfigurableBarrier {
    static let id = "OfficeHoursBarrier"

    @StateSubject(.open)
    private var state: ObservableState<BarrierState>

    private let context: BarrierContext
    private var hours = 9..<17
    private var timer: RepeatingTimer?

    init(context: BarrierContext, configuration: DataObject) throws {
        self.context = context
        try updateConfiguration(configuration)
        timer = RepeatingTimer(interval: .seconds(60), queue: context.queue) { [weak self] in
            self?.updateState()
        }
        timer?.resume()
    }

    deinit {
        timer?.suspend()
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    func updateConfiguration(_ configuration: DataObject) throws {
        let start = configuration.get(key: "start_hour") ?? 9
        let end = configuration.get(key: "end_hour") ?? 17
        guard 0 <= start, start < end, end <= 24 else {
            throw BarrierConfigurationFault(key: "end_hour", message: "must be after start_hour, and not after 24")
        }
        hours = start..<end
        updateState()
    }

    private func updateState() {
        let hour = Int(context.scheduler.wall.milliseconds / 3_600_000 % 24)
        _state.value = hours.contains(hour) ? .open : .closed
    }
}
