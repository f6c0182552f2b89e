import HeadgateCore
import HeadgateCoreTesting
import HeadgateData

/// The parts of a barrier's context, controlled by a test.
final class BarrierBench {
    let scheduler: ManualScheduler
    let queues = ManualQueues()
    let network = StateSubject(NetworkState.unknown)
    let status = StateSubject<ApplicationStatus?>(nil)
    /// Time zone rules by name; the key nil stands for the local time zone.
    var zones: [String?: TimeZoneRules] = [nil: .utc, "UTC": .utc]

    init(wall: String = "2026-03-02T12:00:00Z") {
        scheduler = ManualScheduler(wall: Self.moment(wall))
    }

    var context: BarrierContext {
        BarrierContext(
            scheduler: scheduler, queues: queues, network: network.wrappedValue, applicationStatus: status.wrappedValue,
            timeZone: { [unowned self] name in self.zones[name] })
    }

    /// Adds a time zone with the given UTC offset changes.
    func addZone(_ name: String, minutesEast first: Int, _ changes: (moment: String, minutesEast: Int)...) {
        let steps = changes.map { (Self.moment($0.moment).milliseconds / 1000, $0.minutesEast) }
        zones[name] = TimeZoneRules { seconds in 60 * (steps.last { $0.0 <= seconds }?.1 ?? first) }
    }

    /// Sets the wall clock without moving the monotonic clock.
    func setWall(_ text: String) {
        scheduler.wall = Self.moment(text)
    }

    /// Advances both clocks until the wall clock shows the given time.
    func advance(to text: String) {
        let wait = Self.moment(text).milliseconds - scheduler.wall.milliseconds
        scheduler.advance(by: .milliseconds(wait))
    }

    private static func moment(_ text: String) -> Timestamp {
        guard let moment = Timestamp(rfc3339: text) else { preconditionFailure("no time: \(text)") }
        return moment
    }
}

/// A ``QueueObserving`` whose queues the test controls.
final class ManualQueues: QueueObserving {
    private var takings: [String: PulseSubject<Int>] = [:]

    func onDepth(for dispatcherId: String) -> Observable<QueueDepth> {
        Observables.just(QueueDepth(pending: 0, oldestSince: nil, dispatchLimit: 25))
    }

    func onTaken(for dispatcherId: String) -> Observable<Int> {
        subject(dispatcherId).observable
    }

    private func subject(_ dispatcherId: String) -> PulseSubject<Int> {
        let subject = takings[dispatcherId] ?? PulseSubject()
        takings[dispatcherId] = subject
        return subject
    }

    /// Reports that a dispatcher took a batch of `count` events.
    func take(_ count: Int, for dispatcherId: String = "collect") {
        takings[dispatcherId]?.send(count)
    }
}

/// Holds a barrier and records the states that it publishes for one dispatcher.
final class BarrierWatch {
    /// The last state published, or nil before the first.
    private(set) var state: BarrierState?
    private(set) var isFlushable: Bool?
    /// All published states, without repetitions.
    private(set) var states: [BarrierState] = []
    private var subscriptions: [any Disposable] = []
    /// A strong reference, which keeps the barrier alive as a gate does.
    private let barrier: any Barrier

    init(_ barrier: any Barrier, for dispatcherId: String = "collect") {
        self.barrier = barrier
        let ofState = barrier.onState(for: dispatcherId).subscribe { [weak self] state in self?.note(state) }
        let ofFlushability = barrier.isFlushable.subscribe { [weak self] in self?.isFlushable = $0 }
        subscriptions = [ofState, ofFlushability]
    }

    deinit {
        for subscription in subscriptions { subscription.dispose() }
    }

    private func note(_ state: BarrierState) {
        if self.state != state { states.append(state) }
        self.state = state
    }
}
