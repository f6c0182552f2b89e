import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import Testing

/// Runs the examples of `Docs/Barriers.md` and checks what the guide says about them.
@Suite("Barriers of the guide")
struct ExampleTests {
    let bench = GateBench([DispatcherSettings(id: "collect"), DispatcherSettings(id: "archive")])

    private var context: BarrierContext { bench.gate.barrierContext }

    private func isOpen(_ dispatcherId: String = "collect") -> Bool {
        bench.summary(of: dispatcherId).isOpen
    }

    private func flush(_ dispatcherId: String = "collect") {
        _ = bench.gate.flush(dispatchers: [dispatcherId], timeout: nil) { _ in }
        bench.settle()
    }

    @Test("B8: the timer barrier opens for a second in every interval, and a flush passes")
    func timer() {
        let barrierRegistrar = context.barrierRegistrar
        let barrier = TimerBarrier(interval: 30, queue: context.queue)
        barrierRegistrar.registerScopedBarrier(barrier, scopes: [.dispatcher(id: "collect")])
        bench.advance(by: .seconds(29))
        #expect(!isOpen())
        #expect(isOpen("archive"))
        bench.advance(by: .milliseconds(1500))
        #expect(isOpen())
        bench.advance(by: .milliseconds(500))
        #expect(!isOpen())
        bench.advance(by: .seconds(29))
        #expect(isOpen())
        bench.advance(by: .seconds(5))
        bench.track(1)
        #expect(bench["collect"].sent.isEmpty)
        flush()
        #expect(bench["collect"].sent == [[1]])
        barrierRegistrar.unregisterScopedBarrier(barrier)
        #expect(isOpen())
    }

    @Test("B8: a barrier without other references ends with its registration, including its timers")
    func timerEnds() {
        weak var barrier: TimerBarrier?
        do {
            let held = TimerBarrier(interval: 30, queue: context.queue)
            barrier = held
            bench.gate.registerScopedBarrier(held, scopes: [.all])
        }
        #expect(barrier != nil)
        if let barrier { bench.gate.unregisterScopedBarrier(barrier) }
        bench.advance(by: .seconds(60))
        #expect(barrier == nil)
    }

    @Test("B5, B7: the maintenance barrier is configured, and no flush passes it")
    func maintenance() throws {
        try bench.gate.barriers.add(MaintenanceBarrier.Factory(site: "till-7", defaultScopes: [.all]))
        #expect(!isOpen(), "the barrier is closed for sites that are not cleared")
        let settings: DataObject = ["maintenance": false, "cleared_sites": ["till-6", "till-7", 8]]
        try bench.gate.barriers.update(id: MaintenanceBarrier.id, scopes: nil, configuration: settings)
        #expect(isOpen())
        try bench.gate.barriers.update(id: MaintenanceBarrier.id, scopes: nil, configuration: ["maintenance": true])
        bench.track(1)
        flush()
        #expect(bench["collect"].sent.isEmpty)
    }

    @Test("B7, B26: the foreground barrier follows the application status as its settings say")
    func foreground() throws {
        let barrier = ForegroundBarrier(onApplicationStatus: context.applicationStatus, configuration: [:])
        bench.gate.registerScopedBarrier(barrier, scopes: [.all])
        #expect(isOpen())
        bench.gate.clientStatuses.value[1] = .background
        #expect(!isOpen())
        barrier.updateConfiguration(["block_in_background": false])
        #expect(isOpen())
        barrier.updateConfiguration([:])
        #expect(!isOpen())
        bench.gate.clientStatuses.value[1] = .foreground
        #expect(isOpen())
    }

    @Test("B1: the priority barrier has different states for different dispatchers")
    func priority() {
        let barrier = PriorityBarrier(importantDispatchers: ["collect"])
        bench.gate.registerScopedBarrier(barrier, scopes: [.all])
        #expect(isOpen("collect"))
        #expect(!isOpen("archive"))
        barrier.setGeneralState(.open)
        #expect(isOpen("archive"))
    }

    @Test("B7, P7: the office hours barrier rejects invalid hours, and follows a jump of the clock")
    func officeHours() throws {
        bench.scheduler.wall = Timestamp(milliseconds: 16 * 3_600_000)
        let barrier = try OfficeHoursBarrier(context: context, configuration: [:])
        bench.gate.registerScopedBarrier(barrier, scopes: [.all])
        #expect(isOpen())
        bench.advance(by: .seconds(3600))
        #expect(!isOpen())
        #expect(throws: BarrierConfigurationFault.self) { try barrier.updateConfiguration(["end_hour": 25]) }
        try barrier.updateConfiguration(["end_hour": 18])
        #expect(isOpen())
        bench.scheduler.wall.milliseconds += 5 * 3_600_000
        bench.advance(by: .seconds(60))
        #expect(!isOpen())
    }

    @Test("B2: the selectively flushable barrier decides about flushes while it is closed")
    func selectivelyFlushable() {
        let barrier = SelectivelyFlushableBarrier()
        bench.gate.registerScopedBarrier(barrier, scopes: [.dispatcher(id: "collect")])
        barrier.setFlushable(false)
        bench.track(1)
        flush()
        #expect(bench["collect"].sent.isEmpty)
        barrier.setFlushable(true)
        bench.settle()
        #expect(bench["collect"].sent == [[1]])
    }

    @Test("B9: the robust barrier opens when its code throws, and keeps its state on invalid settings")
    func robust() throws {
        struct Unreachable: Error {}
        var answer: Result<Bool, Unreachable> = .success(false)
        var requested: [String] = []
        let barrier = try RobustBarrier(configuration: ["permission": "export"]) { key in
            requested.append(key)
            return try answer.get()
        }
        bench.gate.registerScopedBarrier(barrier, scopes: [.all])
        #expect(!isOpen())
        #expect(throws: BarrierConfigurationFault.self) { try barrier.updateConfiguration(["permission": 1]) }
        #expect(!isOpen())
        answer = .failure(Unreachable())
        barrier.askAgain()
        #expect(isOpen())
        #expect(requested == ["export", "export"])
    }

    @Test("B3, B9: the permission barrier leaves unknown states and failures to the service")
    func permission() {
        struct Unreachable: Error {}
        var answer: Result<Bool, Unreachable> = .failure(Unreachable())
        let barrier = PermissionBarrier { try answer.get() }
        bench.gate.registerScopedBarrier(barrier, scopes: [.all])
        #expect(bench.barrier("PermissionBarrier")?.states.first?.state == nil)
        #expect(!isOpen())
        barrier.ask()
        #expect(isOpen())
        #expect(bench.counters[.barrierErrors] == 2, "one error for each dispatcher")
        answer = .success(false)
        barrier.ask()
        #expect(!isOpen())
    }

    @Test("B8: the resource-managed barrier leaves neither timer nor subscription")
    func resources() {
        var ticks = 0
        weak var barrier: ResourceManagedBarrier?
        do {
            let held = ResourceManagedBarrier(context: context, busyDispatcher: "archive") { ticks += 1 }
            barrier = held
            bench.gate.registerScopedBarrier(held, scopes: [.dispatcher(id: "collect")])
        }
        bench.advance(by: .seconds(30))
        #expect(ticks == 3)
        if let barrier { bench.gate.unregisterScopedBarrier(barrier) }
        #expect(barrier == nil)
        bench.advance(by: .seconds(30))
        #expect(ticks == 3)
    }

    @Test("B11: the safe barrier may be changed on any thread, and changes its state on the scheduler")
    func safe() {
        let barrier = SafeBarrier(queue: context.queue)
        bench.gate.registerScopedBarrier(barrier, scopes: [.all])
        barrier.updateState(.closed)
        #expect(!isOpen())
        bench.scheduler.isCurrent = false
        barrier.updateState(.open)
        #expect(!isOpen())
        bench.scheduler.isCurrent = true
        bench.settle()
        #expect(isOpen())
    }

    @Test("Q6: the efficient barrier computes its state once a minute, not per dispatcher or event")
    func efficient() {
        var calculations = 0
        let barrier = EfficientBarrier(queue: context.queue) {
            calculations += 1
            return calculations.isMultiple(of: 2) ? .closed : .open
        }
        bench.gate.registerScopedBarrier(barrier, scopes: [.all])
        bench.track(100)
        #expect(calculations == 1)
        #expect(isOpen())
        bench.advance(by: .seconds(60))
        #expect(calculations == 2)
        #expect(!isOpen("archive"))
    }

    @Test("S4: settings built by a program equal those in a file")
    func builders() {
        #expect(
            BarrierSettingsExample.entries == [
                "BatchingBarrier": [
                    "barrier_id": "BatchingBarrier", "scopes": ["collect"],
                    "configuration": ["batch_size": 10, "max_wait_ms": 5000],
                ],
                "ConnectivityBarrier": [
                    "barrier_id": "ConnectivityBarrier", "scopes": ["all"], "configuration": ["wifi_only": true],
                ],
            ])
    }

    @Test("B5: a program may give built-in barriers other default scopes")
    func defaults() throws {
        try BarrierSettingsExample.addBarriers(to: bench.gate)
        #expect(bench.barrier("BatchingBarrier")?.scopes == [.all])
        #expect(bench.barrier("ConnectivityBarrier")?.scopes == [.dispatcher(id: "collect")])
        #expect(bench.barrier("MaintenanceBarrier")?.scopes == [.dispatcher(id: "archive")])
    }
}
