import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("Conformance of the store in memory")
struct MemoryStoreConformanceTests {
    @Test("Q1: the store passes every conformance check", arguments: EventStoreConformance.checks)
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
