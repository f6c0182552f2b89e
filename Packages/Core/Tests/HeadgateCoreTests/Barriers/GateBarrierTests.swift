import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("Barriers before a gate's dispatchers")
struct GateBarrierTests {
    let bench = GateBench([DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")])

    @Test("B1: a closed barrier blocks only its dispatcher, until it opens")
    func closedAndOpened() {
        let barrier = SwitchBarrier(.closed)
        bench.gate.registerScopedBarrier(barrier, id: "door", scopes: [.dispatcher(id: "collect")])
        bench.track(2)
        #expect(bench["collect"].sent.isEmpty)
        #expect(bench["archive"].sent == [[1, 2]])
        barrier.set(.open)
        bench.settle()
        #expect(bench["collect"].sent == [[1, 2]])
    }

    @Test("B1: a barrier has a state for each dispatcher")
    func stateForEach() {
        let barrier = SwitchBarrier(.open)
        barrier.set(.closed, for: "archive")
        bench.gate.registerScopedBarrier(barrier, id: "door", scopes: [.all])
        bench.track(1)
        #expect(bench["archive"].sent.isEmpty)
        #expect(bench["collect"].sent == [[1]])
    }

    @Test("B3: a barrier without a state blocks, even for flushes, and is shown as waiting")
    func silent() {
        let barrier = SwitchBarrier(nil)
        bench.gate.registerScopedBarrier(barrier, id: "mute", scopes: [.dispatcher(id: "collect")])
        bench.track(1)
        _ = bench.gate.flush(timeout: nil) { _ in }
        bench.settle()
        #expect(bench["collect"].sent.isEmpty)
        #expect(bench.barrier("mute")?.states.map(\.state) == [nil])
        barrier.set(.open)
        bench.settle()
        #expect(bench["collect"].sent == [[1]])
    }

    @Test("B4: a scope is a dispatcher's id or `all`, a list may have several, and an empty one disables the barrier")
    func scopes() {
        let barrier = SwitchBarrier(.closed)
        let both = [BarrierScope(rawValue: "archive"), BarrierScope(rawValue: "collect")]
        bench.gate.registerScopedBarrier(barrier, id: "door", scopes: both)
        bench.track(1)
        #expect(bench["archive"].sent.isEmpty && bench["collect"].sent.isEmpty)
        bench.gate.registerScopedBarrier(barrier, id: "door", scopes: [])
        bench.settle()
        #expect(bench["archive"].sent == [[1]] && bench["collect"].sent == [[1]])
        #expect(bench.barrier("door")?.states.isEmpty == true)
        #expect(BarrierScope(rawValue: "all") == .all)
        #expect([BarrierScope.all, .dispatcher(id: "x")].map(\.rawValue) == ["all", "x"])
    }

    @Test("B4: a scope with an unknown dispatcher is kept, and applies when the dispatcher appears")
    func unknownDispatcher() {
        let barrier = SwitchBarrier(.closed)
        bench.gate.registerScopedBarrier(barrier, id: "door", scopes: [.dispatcher(id: "later")])
        bench.add(DispatcherSettings(id: "later"))
        bench.track(1)
        #expect(bench["later"].sent.isEmpty)
        #expect(bench.summary(of: "later").blockedBy == ["door"])
        #expect(bench["collect"].sent == [[1]])
        barrier.set(.open)
        bench.settle()
        #expect(bench["later"].sent == [[1]])
    }

    @Test("B4: a barrier with the scope all also applies to later dispatchers")
    func allCoversLater() {
        bench.gate.registerScopedBarrier(SwitchBarrier(.closed), id: "door", scopes: [.all])
        bench.add(DispatcherSettings(id: "later"))
        #expect(bench.summary(of: "later").blockedBy == ["door"])
    }

    @Test("B6: closing a barrier stops the next batch, but not a batch in flight")
    func closingWhileInFlight() {
        let barrier = SwitchBarrier(.open)
        bench.gate.registerScopedBarrier(barrier, id: "door", scopes: [.dispatcher(id: "collect")])
        bench.track(1)
        bench.track(1)
        barrier.set(.closed)
        bench.settle()
        #expect(bench["collect"].interruptions == 0)
        bench["collect"].answer()
        bench.settle()
        #expect(bench["collect"].delivered == [1])
        #expect(bench["collect"].sent == [[1]])
        #expect(bench.summary().pending == 1)
    }

    @Test("B8: registering the same instance again replaces its scopes")
    func registeredAgain() {
        let barrier = SwitchBarrier(.closed)
        bench.gate.registerScopedBarrier(barrier, id: "door", scopes: [.dispatcher(id: "collect")])
        bench.gate.registerScopedBarrier(barrier, id: "door", scopes: [.dispatcher(id: "archive")])
        bench.track(1)
        #expect(bench["collect"].sent == [[1]])
        #expect(bench["archive"].sent.isEmpty)
        #expect(bench.gate.barrierSummaries.count { $0.identity.id == "door" } == 1)
    }

    @Test("B8: an unregistered barrier blocks nothing, and unregistering an unknown one has no effect")
    func unregistered() {
        let barrier = SwitchBarrier(.closed)
        bench.gate.registerScopedBarrier(barrier, id: "door", scopes: [.all])
        bench.track(1)
        let before = bench.gate.barrierSummaries
        bench.gate.unregisterScopedBarrier(SwitchBarrier(.closed))
        #expect(bench.gate.barrierSummaries == before)
        bench.gate.unregisterScopedBarrier(barrier)
        bench.settle()
        #expect(bench["collect"].sent == [[1]])
        barrier.set(.open)
        barrier.set(.closed)
        #expect(bench.barrier("door") == nil)
    }

    @Test("B11: the coordinator checks that calls are on the scheduler")
    func onTheScheduler() {
        // The rule's first half is checked by the compiler: barriers and the gate are not Sendable, so code that passes
        // one to another thread does not compile.
        var checks = 0
        bench.scheduler.onPrecondition = { checks += 1 }
        let barrier = SwitchBarrier(.open)
        bench.gate.registerScopedBarrier(barrier, id: "door", scopes: [.dispatcher(id: "collect")])
        #expect(checks > 0)
        for change in [{ barrier.set(.closed) }, { barrier.setFlushable(false) }] {
            checks = 0
            change()
            #expect(checks > 0)
        }
        checks = 0
        bench.gate.unregisterScopedBarrier(barrier)
        #expect(checks > 0)
    }
}
