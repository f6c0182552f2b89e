import HeadgateCore
import HeadgateCoreTesting

/// A gate with so many barriers, each before all of so many dispatchers.
struct Stage {
    let bench: GateBench
    let levers: [Lever]

    init(barriers: Int, dispatchers: Int) {
        let bench = GateBench((0..<dispatchers).map { DispatcherSettings(id: "d\($0)") }, reply: { _ in .delivered })
        self.bench = bench
        levers = (0..<barriers).map { number in
            let barrier = Lever()
            bench.gate.registerScopedBarrier(barrier, id: "b\(number)", scopes: [.all])
            return barrier
        }
        bench.settle()
    }

    /// One event to all dispatchers, through all barriers, delivered and settled.
    func event() {
        bench.track(1)
    }

    /// One barrier closes, and opens again: two changes of its state, each for all dispatchers.
    func change() {
        levers[0].set(.closed)
        bench.settle()
        levers[0].set(.open)
        bench.settle()
    }
}

/// The plainest barrier: one state for all.
final class Lever: Barrier {
    @StateSubject(.open) private var state: ObservableState<BarrierState>

    func set(_ new: BarrierState) {
        _state.value = new
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }
}
