import HeadgateCore
import HeadgateCoreTesting

/// A gate with a number of barriers, each of which can block all dispatchers.
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

    /// Tracks one event, and delivers it to all dispatchers.
    func event() {
        bench.track(1)
    }

    /// Closes one barrier and opens it again. Both changes affect all dispatchers.
    func change() {
        levers[0].set(.closed)
        bench.settle()
        levers[0].set(.open)
        bench.settle()
    }
}

/// A barrier with one state for all dispatchers, which the benchmark sets.
final class Lever: Barrier {
    @StateSubject(.open) private var state: ObservableState<BarrierState>

    func set(_ new: BarrierState) {
        _state.value = new
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }
}
