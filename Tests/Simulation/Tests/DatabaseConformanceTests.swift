import HeadgateCore
import HeadgateCoreTesting
import HeadgateSeeds
import HeadgateTransport
import Testing

@testable import HeadgateSQLiteStore
@testable import HeadgateStore

/// The SQLite store on a simulated disk, which SQLite reaches as a file system of its own.
@Suite("SQLite event store on a simulated disk")
struct DatabaseConformanceTests {
    @Test("Q1: it passes the tests of every store", arguments: EventStoreConformance.checks)
    func conforms(_ check: EventStoreConformance.Check) throws {
        let medium = SimulatedMedium()
        let record = Record(seed: Seed(1))
        var disk = SimulatedDisk(medium, record)
        let posted = Guarded<[@Sendable () -> Void]>([])
        try check.run(
            StoreBench(
                open: {
                    disk.end()
                    disk = SimulatedDisk(medium, record)
                    try disk.makeDirectory("/data")
                    var options = SQLiteEventStore.Options(path: "/data/events.db")
                    options.fileSystem = disk.sqliteName
                    options.rewriteLog = disk.rewrite
                    let store = SQLiteEventStore(options: options) { work in posted.withLock { $0.append(work) } }
                    return (store, try store.open())
                }, work: { for work in posted.takeAll(waiting: true) { work() } },
                clear: { for path in medium.names.keys.sorted() { medium.name(path, nil) } }))
    }
}
