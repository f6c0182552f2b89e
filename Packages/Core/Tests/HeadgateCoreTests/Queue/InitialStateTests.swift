import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Prerequisites of stored events")
struct InitialStateTests {
    let bench = GateBench()

    @Test("P1, Q3: events keep their dispatcher after a restart, even if it could not be written separately")
    func dispatcher() throws {
        bench.store.writeFault = .noRoom("full")
        let settings = DispatcherSettings(id: "late")
        bench.dispatchers.append(settings)
        bench.add(settings)
        bench.settle()
        bench.track(1, EventDraft(dispatchers: ["late"]))
        #expect(bench.acknowledgements.map(\.fault) == [nil])

        try bench.restart()
        #expect(bench["late"].sent == [[1]])
    }

    @Test("P1, Q3: after a restart a dispatcher that was dropped and restored still has its events")
    func droppedAndBack() throws {
        let late = DispatcherSettings(id: "late")
        bench.limits.orphanRetention = .zero
        try bench.restart()
        bench.add(late)
        bench.settle()
        bench.store.writeFault = .noRoom("full")
        bench.gate.removeDispatcher("late")
        bench.advance(by: .seconds(61))
        #expect(bench.gate.dispatchers.known["late"] == nil)
        bench.dispatchers.append(late)
        bench.add(late)
        bench.track(1, EventDraft(dispatchers: ["late"]))
        #expect(bench.acknowledgements.map(\.fault) == [nil])

        try bench.restart()
        #expect(bench["late"].sent == [[1]])
    }

    @Test("Q3: settlements from before the drop do not apply to a restored dispatcher")
    func settledBefore() throws {
        let late = DispatcherSettings(id: "late")
        bench.limits.orphanRetention = .zero
        bench.dispatchers.append(late)
        try bench.restart()
        bench.store.writeFault = .noRoom("full")
        bench.track(2, EventDraft(dispatchers: ["late"]))
        bench.gate.removeDispatcher("late")
        bench["late"].answer(.each([.delivered, .retry(cause: "busy", charged: true)]))
        bench.advance(by: .seconds(61))
        #expect(bench.gate.dispatchers.known["late"] == nil)
        bench.add(late)
        bench.store.writeFault = nil
        bench.advance(by: .seconds(2))
        #expect(try bench.store.open().dispatchers.first { $0.id == "late" }?.position == 2)
    }

    @Test("Q6: the number of a dropped dispatcher is remembered until the drop is written, and no longer")
    func forgotten() throws {
        bench.limits.orphanRetention = .zero
        try bench.restart()
        for number in 1...10 {
            bench.add(DispatcherSettings(id: "late \(number)"))
            bench.settle()
            bench.gate.removeDispatcher("late \(number)")
            bench.advance(by: .seconds(61))
        }
        #expect(bench.gate.dispatchers.known.forgotten.count == 1)
        bench.store.writeFault = .noRoom("full")
        for number in 11...13 {
            bench.add(DispatcherSettings(id: "late \(number)"))
            bench.gate.removeDispatcher("late \(number)")
            bench.advance(by: .seconds(61))
        }
        #expect(bench.gate.dispatchers.known.forgotten.count == 3)
    }

    @Test("Q3: retention counts from the last removal, even if the store recorded the return only with events")
    func back() throws {
        bench.limits.orphanRetention = .seconds(1_000)
        try bench.restart()
        let late = DispatcherSettings(id: "late")
        bench.add(late)
        bench.gate.removeDispatcher("late")
        bench.advance(by: .seconds(600))
        bench.store.writeFault = .noRoom("full")
        bench.add(late)
        bench.track(1, EventDraft(dispatchers: ["late"]))

        bench.store.writeFault = nil
        try bench.restart()
        bench.advance(by: .seconds(600))
        #expect(bench.counters[.expired] == 0 && bench.gate.stored.events == 1)
        bench.advance(by: .seconds(460))
        #expect(bench.counters[.expired] == 1)
    }

    @Test("Q3: a repeated removal is stored with the next group")
    func goneAgain() throws {
        bench.store.writeFault = .noRoom("full")
        bench.add(DispatcherSettings(id: "late"))
        bench.gate.removeDispatcher("late")
        bench.track(1)
        let known = bench.gate.dispatchers.known["late"]
        #expect(known?.orphanedSince != nil)
        #expect(try bench.store.open().dispatchers.first { $0.id == "late" } == known)
    }

    @Test("Q7: an id is recognised after a restart even if the hash key could not be written separately")
    func key() throws {
        let store = FaultyStore(scheduler: bench.scheduler)
        store.writeFault = .noRoom("full")
        let first = EventQueue(scheduler: bench.scheduler, store: store, limits: StoreLimits(), state: try store.open())
        #expect(admit("a", to: first) == .stored(1))
        bench.settle()

        let second = EventQueue(
            scheduler: bench.scheduler, store: store, limits: StoreLimits(), state: try store.open())
        #expect(admit("a", to: second) == .duplicate(1))
    }

    @Test("P1, Q3: after a failed group the routes of all later groups are stored with the next one")
    func routesOfDoomedGroups() throws {
        let ids = ["a", "b", "c"]
        let bench = GateBench(ids.map(DispatcherSettings.init(id:)))
        bench.store.holdsAppends = true
        bench.store.memory.fault = .noRoom("full")
        for id in ids { bench.track(1, EventDraft(dispatchers: [id])) }
        bench.store.memory.fault = nil
        bench.store.holdsAppends = false
        bench.settle()
        #expect(bench.acknowledgements.map { $0.fault != nil } == [true, true, true])
        for id in ids.reversed() { bench.track(1, EventDraft(dispatchers: [id])) }
        #expect(bench.acknowledgements.suffix(3).allSatisfy { $0.fault == nil })

        try bench.restart()
        #expect(ids.map { bench[$0].sent.joined().count } == [1, 1, 1])
    }

    @Test("P1: the prerequisites are part of each group until one group is stored")
    func untilStored() throws {
        let queue = EventQueue(
            scheduler: bench.scheduler, store: bench.store, limits: StoreLimits(), state: StoredState())
        #expect(queue.initialState.kept.keys.sorted() == [DedupeKey.name, StoreIdentity.name])
        bench.store.memory.fault = .noRoom("full")
        _ = admit("a", to: queue)
        bench.settle()
        #expect(!queue.initialState.isEmpty)
        bench.store.memory.fault = nil
        _ = admit("a", to: queue)
        bench.settle()
        #expect(queue.initialState.isEmpty)
    }

    @Test("P7: the first events are stored with the clock, so that a clock years ahead does not make them old")
    func clock() throws {
        let store = MemoryEventStore(scheduler: bench.scheduler)
        func queue() throws -> EventQueue {
            EventQueue(scheduler: bench.scheduler, store: store, limits: StoreLimits(), state: try store.open())
        }
        let before = try queue()
        let neverWritten = Settlements(scheduler: ManualScheduler(), store: store)
        _ = ClockRecorder(events: before, settlements: neverWritten)
        _ = admit("a", to: before)
        bench.settle()
        let stamp = before.presentStamp()
        bench.scheduler.reboot(after: .zero)
        bench.scheduler.wall.milliseconds += 10 * 365 * 86_400_000
        #expect(try queue().presentStamp() == stamp)
    }

    private func admit(_ id: String, to queue: EventQueue) -> Admission {
        let admission = EventDraft(id: id).withTracked(route: 1, spareId: id, queue.admit)
        queue.whenCommitted { _ in }
        return admission
    }
}
