import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import Testing

@Suite("BatchingBarrier")
struct BatchingBarrierTests {
    /// Creates a bench with a batching barrier before the dispatcher `collect`.
    private func bench(_ configuration: DataObject, _ change: (inout DispatcherSettings) -> Void = { _ in }) throws
        -> GateBench
    {
        let bench = GateBench(change)
        try bench.gate.barriers.configure(
            id: "batching", kind: "BatchingBarrier", scopes: nil, configuration: configuration)
        bench.settle()
        return bench
    }

    @Test("B22: the barrier opens at batch_size pending events, and a batch takes all of them")
    func threshold() throws {
        let bench = try bench(["batch_size": 3])
        bench.track(2)
        #expect(bench.sender.sent.isEmpty)
        #expect(bench.summary().blockedBy == ["batching"])
        bench.track(3)
        #expect(bench.sender.sent == [[1, 2, 3, 4, 5]])
        bench.sender.answer()
        bench.track(2)
        #expect(bench.sender.sent.count == 1)
        bench.track(1)
        #expect(bench.sender.sent.last == [6, 7, 8])
    }

    @Test("B22: events left over by a batch wait for a full batch again")
    func restWaits() throws {
        let bench = try bench(["batch_size": 3]) { $0.dispatchLimit = 4 }
        bench.track(6)
        #expect(bench.sender.sent == [[1, 2, 3, 4]])
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent.count == 1)
        bench.track(1)
        #expect(bench.sender.sent.last == [5, 6, 7])
    }

    @Test("B22, Q2: with several batches in flight, each needs batch_size pending events")
    func eachBatchNeedsIt() throws {
        let bench = try bench(["batch_size": 3]) {
            $0.dispatchLimit = 4
            $0.inFlight = 5
        }
        bench.track(9)
        #expect(bench.sender.sent == [[1, 2, 3, 4], [5, 6, 7, 8]])
        #expect(bench.summary().pending == 1)
    }

    @Test(
        "B22: the barrier opens at no more than dispatch_limit and no less than 1 pending event",
        arguments: [0, 1, -4, 1000])
    func clamped(size: Int) throws {
        let bench = try bench(["batch_size": .number(DataNumber(size))]) { $0.dispatchLimit = 2 }
        bench.track(1)
        #expect(bench.sender.sent == (size > 1 ? [] : [[1]]))
        bench.sender.answer()
        bench.track(1)
        #expect(bench.sender.sent == (size > 1 ? [[1, 2]] : [[1], [2]]))
    }

    @Test("B22: without batch_size every event is sent at once")
    func absentSize() throws {
        let bench = try bench([:])
        bench.track(1)
        #expect(bench.sender.sent == [[1]])
    }

    @Test("B22: events in flight do not count as pending")
    func inFlightDoesNotCount() throws {
        let bench = try bench(["batch_size": 2])
        bench.track(2)
        bench.track(1)
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent == [[1, 2]])
    }

    @Test("B22: the BatchingBarrier is flushable")
    func flushable() throws {
        let bench = try bench(["batch_size": 10])
        bench.track(3)
        _ = bench.gate.flush(timeout: nil) { _ in }
        bench.settle()
        #expect(bench.sender.sent == [[1, 2, 3]])
    }

    @Test("B22: the barrier opens when the oldest event has waited for max_wait")
    func maxWait() throws {
        let bench = try bench(["batch_size": 10, "max_wait_ms": 5000])
        bench.track(1)
        bench.advance(by: .milliseconds(3000))
        bench.track(1)
        bench.advance(by: .milliseconds(1999))
        #expect(bench.sender.sent.isEmpty)
        bench.advance(by: .milliseconds(1))
        #expect(bench.sender.sent == [[1, 2]])
        bench.sender.answer()
        bench.track(1)
        bench.advance(by: .milliseconds(4999))
        #expect(bench.sender.sent.count == 1)
        bench.advance(by: .milliseconds(1))
        #expect(bench.sender.sent.last == [3])
    }

    @Test("B22: a wait that ends without pending events leaves no timer")
    func leavesNoTimer() throws {
        let (scheduler, depths) = (ManualScheduler(), FixedDepth())
        let context = BarrierContext(scheduler: scheduler, queues: depths)
        let watch = BarrierWatch(
            try BatchingBarrier.Factory().create(
                context: context, configuration: ["batch_size": 9, "max_wait_ms": 5000]))
        for pending in 1...3 {
            depths.depth.value = QueueDepth(pending: pending, oldestSince: scheduler.now, dispatchLimit: 25)
        }
        #expect(watch.state == .closed && scheduler.nextDeadline == scheduler.now + .seconds(5))
        depths.depth.value = QueueDepth(pending: 0, oldestSince: nil, dispatchLimit: 25)
        #expect(watch.state == .closed && scheduler.nextDeadline == nil)
    }

    @Test("B22: max_wait counts from receipt, even across a restart")
    func maxWaitOverRestart() throws {
        let bench = try bench(["batch_size": 10, "max_wait_ms": 5000])
        bench.track(1)
        bench.advance(by: .milliseconds(4000))
        try bench.restart { bench in
            try bench.gate.barriers.configure(
                id: "batching", kind: "BatchingBarrier", scopes: nil,
                configuration: ["batch_size": 10, "max_wait_ms": 5000])
        }
        bench.advance(by: .milliseconds(999))
        #expect(bench.sender.sent.isEmpty)
        bench.advance(by: .milliseconds(1))
        #expect(bench.sender.sent == [[1]])
    }

    @Test("B22: expired events do not count, even for a batch that they would have filled")
    func expiredDoNotCount() throws {
        let bench = try bench(["batch_size": 3])
        bench.track(EventDraft(timeToLive: .seconds(1)))
        bench.track(1)
        bench.advance(by: .seconds(2))
        bench.track(1)
        #expect(bench.sender.sent.isEmpty)
        bench.track(1)
        #expect(bench.sender.sent == [[2, 3, 4]])
    }

    @Test("B22: its default scope is collect")
    func defaultScope() throws {
        let bench = GateBench([DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")])
        try bench.gate.barriers.configure(
            id: "b", kind: "BatchingBarrier", scopes: nil, configuration: ["batch_size": 5])
        bench.track(1)
        #expect(bench["archive"].sent == [[1]])
        #expect(bench["collect"].sent.isEmpty)
    }

    @Test("B22: a batch size or wait that is not an integer is rejected", arguments: ["batch_size", "max_wait_ms"])
    func faults(key: String) {
        for value: DataItem in ["three", 1.5, [1]] {
            #expect(throws: BarrierConfigurationFault.self) { try BatchingSettings([key: value]) }
        }
        #expect(throws: BarrierConfigurationFault.self) { try BatchingSettings(["max_wait_ms": 0]) }
    }

    @Test("B7, B22: new settings apply at once, and rejected ones leave the old ones in force")
    func updated() throws {
        let bench = GateBench()
        let depths = FixedDepth()
        let context = BarrierContext(scheduler: bench.scheduler, queues: depths)
        let barrier = try BatchingBarrier.Factory().create(context: context, configuration: ["batch_size": 5])
        bench.gate.registerScopedBarrier(barrier, id: "b", scopes: [.all])
        depths.depth.value = QueueDepth(pending: 3, oldestSince: bench.scheduler.now, dispatchLimit: 25)
        #expect(bench.summary().blockedBy == ["b"])
        #expect(throws: BarrierConfigurationFault.self) { try barrier.updateConfiguration(["batch_size": "x"]) }
        #expect(bench.summary().blockedBy == ["b"])
        try barrier.updateConfiguration(["batch_size": 5, "max_wait_ms": 100])
        bench.advance(by: .milliseconds(100))
        #expect(bench.summary().blockedBy.isEmpty)
        try barrier.updateConfiguration(["batch_size": 4])
        #expect(bench.summary().blockedBy == ["b"])
        try barrier.updateConfiguration(["batch_size": 3])
        #expect(bench.summary().blockedBy.isEmpty)
    }
}

/// Reports the same queue depth, set by the test, for every dispatcher.
private final class FixedDepth: QueueObserving {
    let depth = StateSubject(QueueDepth(pending: 0, oldestSince: nil, dispatchLimit: 25))

    func onDepth(for dispatcherId: String) -> Observable<QueueDepth> {
        depth.wrappedValue
    }
}
