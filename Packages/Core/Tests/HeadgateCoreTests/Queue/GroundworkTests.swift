import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("What stored events rely on")
struct GroundworkTests {
    let bench = GateBench()

    @Test("P1, Q3: events of a dispatcher that could not be written down by itself are still its own after a restart")
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

    @Test("Q7: an id is known after a restart also where the key that it is hashed with could not be written by itself")
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

    @Test("P1: it goes with each group until one is stored, and with none after that")
    func untilStored() throws {
        let queue = EventQueue(
            scheduler: bench.scheduler, store: bench.store, limits: StoreLimits(), state: StoredState())
        #expect(queue.groundwork.kept.keys.elementsEqual([DedupeKey.name]))
        bench.store.memory.fault = .noRoom("full")
        _ = admit("a", to: queue)
        bench.settle()
        #expect(!queue.groundwork.isEmpty)
        bench.store.memory.fault = nil
        _ = admit("a", to: queue)
        bench.settle()
        #expect(queue.groundwork.isEmpty)
    }

    private func admit(_ id: String, to queue: EventQueue) -> Admission {
        let admission = EventDraft(id: id).withTracked(route: 1, spareId: id, queue.admit)
        queue.whenCommitted { _ in }
        return admission
    }
}
