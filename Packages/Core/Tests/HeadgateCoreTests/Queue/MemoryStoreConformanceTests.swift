import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("The store in memory: what every store has to do")
struct MemoryStoreConformanceTests {
    @Test("Q1: it does what every store has to", arguments: EventStoreConformance.checks)
    func conforms(_ check: EventStoreConformance.Check) throws {
        let scheduler = ManualScheduler()
        // Closing it loses nothing: it is opened again.
        var store = MemoryEventStore(scheduler: scheduler)
        try check.run(
            StoreBench(
                open: { (store, try store.open()) }, work: { scheduler.settle() },
                clear: { store = MemoryEventStore(scheduler: scheduler) }))
    }
}
