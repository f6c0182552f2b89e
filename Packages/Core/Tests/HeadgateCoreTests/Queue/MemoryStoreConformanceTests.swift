import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("The store in memory: what every store has to do")
struct MemoryStoreConformanceTests {
    @Test("Q1: it does what every store has to", arguments: EventStoreConformance.checks)
    func conforms(_ check: EventStoreConformance.Check) throws {
        let scheduler = ManualScheduler()
        // A closed memory store keeps its contents, and can be opened again.
        var store = MemoryEventStore(scheduler: scheduler)
        try check.run(
            StoreBench(
                open: { (store, try store.open()) }, work: { scheduler.settle() },
                clear: { store = MemoryEventStore(scheduler: scheduler) }))
    }
}
