import HeadgateCoreTesting
import HeadgateData
import HeadgateSeeds
import Testing

@testable import HeadgateCore
@testable import HeadgateSQLiteStore
@testable import HeadgateStore

/// A store on a simulated disk, whose daemon is killed and whose machine loses power.
@Suite("Acknowledged events survive a power failure")
struct PowerTests {
    private static let seeds = (1...20 as ClosedRange<UInt64>).map { Seed($0) }

    @Test("Q5: acknowledged events survive after a failed sync", arguments: PowerTests.seeds, PoweredKind.allCases)
    func failedSync(_ seed: Seed, _ kind: PoweredKind) throws {
        let scene = PowerScene(seed, kind)
        try scene.open()
        #expect(scene.append(1) == nil)
        scene.write()
        scene.disk.mood.failsToSync = 1
        #expect(scene.append(2) != nil)
        scene.disk.mood.failsToSync = nil
        #expect(scene.append(2) == nil)
        #expect(scene.append(3) == nil)
        scene.losePower()
        #expect(try scene.open() == [1, 2, 3])
    }

    @Test(
        "Q5: acknowledged events survive after data that an earlier process could not sync",
        arguments: PowerTests.seeds, PoweredKind.allCases)
    func failedSyncBeforeAKill(_ seed: Seed, _ kind: PoweredKind) throws {
        let scene = PowerScene(seed, kind)
        try scene.open()
        #expect(scene.append(1) == nil)
        scene.disk.mood.failsToSync = 1
        #expect(scene.append(2) != nil)
        scene.kill()
        let found = try scene.open()
        #expect(scene.append(9) == nil)
        scene.losePower()
        #expect(try scene.open() == found + [9])
    }

    @Test(
        "Q5, Q7: events found at a start are safe from then on, since a repeat is a duplicate",
        arguments: PowerTests.seeds, PoweredKind.allCases)
    func foundAfterAKill(_ seed: Seed, _ kind: PoweredKind) throws {
        let scene = PowerScene(seed, kind)
        try scene.open()
        #expect(scene.append(1) == nil)
        scene.disk.callsToLive = Int(seed.number % 9)
        _ = scene.append(2)
        scene.kill()
        let found = try scene.open()
        scene.losePower()
        #expect(try scene.open() == found)
    }

    @Test(
        "Q5: acknowledged events survive a first start that ended between any two of its calls", arguments: 0...60,
        PoweredKind.allCases)
    func killedInTheFirstStart(_ calls: Int, _ kind: PoweredKind) throws {
        let scene = PowerScene(Seed(UInt64(calls)), kind)
        scene.disk.callsToLive = calls
        _ = try? scene.open()
        scene.kill()
        try scene.open()
        #expect(scene.append(1) == nil)
        scene.losePower()
        #expect(try scene.open() == [1])
    }

    @Test(
        "Q8: events that temporarily cannot be read are neither damaged nor dropped", arguments: PowerTests.seeds,
        PoweredKind.allCases)
    func unreadable(_ seed: Seed, _ kind: PoweredKind) throws {
        let scene = PowerScene(seed, kind)
        try scene.open()
        for number: SequenceNumber in 1...3 { #expect(scene.append(number) == nil) }
        for _ in 0..<20 {
            scene.kill()
            scene.disk.mood.fails = 5
            _ = try? scene.open()
        }
        scene.kill()
        #expect(try scene.open() == [1, 2, 3])
    }
}

/// The store that loses its power.
enum PoweredKind: CaseIterable { case log, sqlite }

/// A store on a disk, without a daemon.
private final class PowerScene {
    private let record: Record
    private let platter = SimulatedMedium()
    private(set) var disk: SimulatedDisk
    private let kind: PoweredKind
    private var engine: (any PoweredEngine)?

    init(_ seed: Seed, _ kind: PoweredKind) {
        self.kind = kind
        record = Record(seed: seed)
        disk = SimulatedDisk(platter, record)
    }

    /// - Returns: The numbers of the stored events.
    @discardableResult
    func open() throws -> [SequenceNumber] {
        let (engine, state) = try kind == .log ? openLog() : openDatabase()
        self.engine = engine
        #expect(state.warnings == [])
        var (numbers, position): ([SequenceNumber], SequenceNumber) = ([], 0)
        while let chunk = try engine.read(after: position).get() {
            numbers += chunk.map(\.sequenceNumber)
            position = chunk.lastSequenceNumber
        }
        return numbers
    }

    private func openLog() throws -> (any PoweredEngine, StoredState) {
        var options = DiskEventStore.Options(directory: "/data")
        (options.disk, options.segmentSize) = (disk, 4 << 10)
        let opened = try options.open()
        return (opened.engine, opened.state)
    }

    private func openDatabase() throws -> (any PoweredEngine, StoredState) {
        try disk.makeDirectory("/data")
        var options = SQLiteEventStore.Options(path: "/data/events.db")
        options.fileSystem = disk.sqliteName
        options.rewriteLog = disk.rewrite
        return try SQLiteOpening(options: options).run()
    }

    func append(_ number: SequenceNumber) -> StoreFault? {
        var writer = RecordWriter()
        let bytes = EventDraft(id: "e\(number)").withTracked(route: 1, spareId: "") { event in
            writer.append(
                event, sequenceNumber: number, receivedAt: Timestamp(milliseconds: 0), receivedStamp: 0)
        }
        let group = AppendGroup(
            chunk: Chunk(bytes: writer.take(), lastSequenceNumber: number),
            tallies: [1: Tally(events: 1, bytes: bytes)],
            ages: GroupAges(), newRoutes: [:], recentIDs: nil)
        return engine?.append(group)
    }

    /// Changes something, which a log does not sync.
    func write() {
        engine?.write([.keep("name", [1])])
    }

    func kill() {
        disk.end()
        engine = nil
        disk = SimulatedDisk(platter, record)
    }

    func losePower() {
        disk.end()
        engine = nil
        platter.losePower(record)
        disk = SimulatedDisk(platter, record)
    }
}

/// A store's own part, as its thread has it.
private protocol PoweredEngine {
    func read(after number: SequenceNumber) -> Result<Chunk?, StoreFault>
    func append(_ group: AppendGroup) -> StoreFault?
    func write(_ changes: [StoreChange])
}

extension LogEngine: PoweredEngine {
    func append(_ group: AppendGroup) -> StoreFault? {
        var fault: StoreFault?
        _ = turn([.append(group) { fault = $0 }]) { news in
            for answer in news.answers { answer() }
        }
        return fault
    }

    func write(_ changes: [StoreChange]) { _ = turn([.write(changes)]) { _ in } }
}

extension SQLiteTables: PoweredEngine {
    func append(_ group: AppendGroup) -> StoreFault? { commit([.append(group)])[0] }

    func write(_ changes: [StoreChange]) { _ = commit([.write(changes)]) }
}
