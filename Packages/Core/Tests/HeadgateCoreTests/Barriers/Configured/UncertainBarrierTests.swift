import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import Testing

@Suite("Barriers that may not know their state")
struct UncertainBarrierTests {
    let bench = GateBench([DispatcherSettings(id: "collect"), DispatcherSettings(id: "archive")])

    /// A barrier whose finding the test sets.
    private final class FindingBarrier: UncertainBarrier, ConfigurableBarrier {
        static let id = "FindingBarrier"
        let finding = StateSubject(BarrierFinding.unknown)

        func onFinding(for dispatcherId: String) -> Observable<BarrierFinding> {
            finding.wrappedValue
        }

        func updateConfiguration(_ configuration: DataObject) {}
    }

    private struct Factory: BarrierFactory {
        let barrier: FindingBarrier

        func create(context: BarrierContext, configuration: DataObject) -> FindingBarrier {
            barrier
        }
    }

    private struct Failure: Error, CustomStringConvertible {
        let description = "no answer"
    }

    private let barrier = FindingBarrier()

    private func add(stateOnError: BarrierState) throws {
        bench.gate.barriers.factories[FindingBarrier.id] = Factory(barrier: barrier)
        try bench.gate.barriers.configure(
            id: "find", kind: "FindingBarrier", scopes: [.dispatcher(id: "collect")], configuration: [:],
            stateOnError: stateOnError)
    }

    private var state: BarrierState?? { bench.barrier("find")?.states.first?.state }

    @Test("B3: a barrier with an unknown state is waiting and not flushable")
    func unknown() throws {
        try add(stateOnError: .open)
        for finding: BarrierFinding in [.unknown, .state(.open), .unknown] { barrier.finding.value = finding }
        #expect(state == .some(nil))
        bench.track(1)
        _ = bench.gate.flush(dispatchers: ["collect"], timeout: nil) { _ in }
        bench.settle()
        #expect(bench["collect"].sent.isEmpty)
        barrier.finding.value = .state(.open)
        bench.settle()
        #expect(bench["collect"].sent == [[1]])
    }

    @Test(
        "B9: a failing barrier is reported and counted, and has the state on_error until it recovers",
        arguments: [BarrierState.open, .closed])
    func failed(stateOnError: BarrierState) throws {
        var reported: [String] = []
        let failures = bench.gate.barrierFailures.subscribe { reported.append("\($0.barrier.id): \($0.error)") }
        defer { failures.dispose() }
        try add(stateOnError: stateOnError)
        barrier.finding.value = BarrierFinding { throw Failure() }
        #expect(state == stateOnError)
        #expect(bench.barrier("find")?.reason == "no answer")
        #expect(reported == ["find: no answer"])
        #expect(bench.counters[.barrierErrors] == 1)
        barrier.finding.value = BarrierFinding { .closed }
        #expect(state == .closed)
        #expect(bench.barrier("find")?.reason == nil)
    }

    @Test("B8, B9: a new registration changes on_error, even for a barrier that is failing")
    func otherStateOnError() throws {
        try add(stateOnError: .open)
        try bench.gate.barriers.update(
            id: "find", scopes: [.dispatcher(id: "collect")], configuration: [:], stateOnError: .closed)
        barrier.finding.value = .failed(Failure())
        #expect(state == .closed)
        try add(stateOnError: .open)
        #expect(state == .open)
        try bench.gate.barriers.update(id: "find", scopes: [.all], configuration: [:], stateOnError: .closed)
        #expect(bench.barrier("find")?.states.map(\.state) == [.closed, .closed])
        // An update without `stateOnError` keeps the earlier setting.
        try bench.gate.barriers.update(id: "find", scopes: [.all], configuration: [:])
        barrier.finding.value = .failed(Failure())
        #expect(state == .closed && bench.barrier("find")?.reason == "no answer")
        try bench.gate.barriers.reset(id: "find")
        #expect(bench.barrier("find")?.states.map(\.state) == [.open, .open])
        barrier.finding.value = .state(.closed)
        try bench.gate.barriers.update(id: "find", scopes: [.all], configuration: [:], stateOnError: .closed)
        barrier.finding.value = .state(.open)
        try bench.gate.barriers.update(id: "find", scopes: [.all], configuration: [:], stateOnError: .open)
        try bench.gate.barriers.update(id: "find", scopes: [.all], configuration: [:], stateOnError: .closed)
        #expect(state == .open, "stateOnError applies only while the barrier is failing")
    }

    @Test("B3, B9: a failure for a removed dispatcher is not reported for a new one")
    func forgottenFailure() {
        let barrier = OnceFailingBarrier()
        bench.gate.registerScopedBarrier(barrier, id: "find", scopes: [.dispatcher(id: "collect")])
        #expect(state == .some(.open) && bench.barrier("find")?.reason == "no answer")
        for scopes in [[], [BarrierScope.dispatcher(id: "collect")]] {
            bench.gate.registerScopedBarrier(barrier, id: "find", scopes: scopes)
        }
        #expect(state == .some(nil) && bench.barrier("find")?.reason == nil)
    }

    /// A barrier that reports a failure to its first subscriber, and nothing to later ones.
    private final class OnceFailingBarrier: UncertainBarrier {
        private var hasFailed = false

        func onFinding(for dispatcherId: String) -> Observable<BarrierFinding> {
            Observable { [unowned self] observer in
                if !hasFailed { observer(.failed(Failure())) }
                hasFailed = true
                return DisposeAction {}
            }
        }
    }

    @Test("B9: a failing barrier without settings is open")
    func unconfigured() {
        bench.gate.registerScopedBarrier(barrier, id: "find", scopes: [.all])
        barrier.finding.value = .failed(Failure())
        #expect(bench.barrier("find")?.states.map(\.state) == [.open, .open])
    }

    @Test("An uncertain barrier publishes the states that it finds")
    func states() {
        var states: [BarrierState] = []
        let subscription = barrier.onState(for: "collect").subscribe { states.append($0) }
        for finding: BarrierFinding in [.state(.open), .failed(Failure()), .unknown, .state(.closed)] {
            barrier.finding.value = finding
        }
        subscription.dispose()
        #expect(states == [.open, .closed])
    }
}
