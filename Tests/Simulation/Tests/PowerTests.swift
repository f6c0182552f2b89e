import HeadgateCoreTesting
import HeadgateData
import HeadgateEncryption
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
        "R1: events that were stored after retention began are retained after a kill or a power failure",
        arguments: [true, false], [true, false])
    func retained(_ isPowerless: Bool, _ hasDropped: Bool) throws {
        let scene = PowerScene(Seed(1), .log)
        try scene.open()
        #expect(scene.append(1) == nil)
        if hasDropped { scene.write(.trim(through: 1)) }
        scene.write(.retain(Retention(maxBytes: 1_000_000)))
        #expect(scene.append(2) == nil)
        let before = try #require(scene.log?.state)
        #expect(before.unretainedThrough < 2)
        if isPowerless { scene.losePower() } else { scene.kill() }
        #expect(try scene.open() == [1, 2])
        #expect(scene.log?.state.retention == before.retention)
        #expect(scene.log?.state.unretainedThrough == before.unretainedThrough)
    }

    @Test(
        "C2: a key that no file is said to need is not needed after a power failure", arguments: PowerTests.seeds,
        [true, false])
    func keyIsNotNeeded(_ seed: Seed, _ isSynced: Bool) throws {
        let scene = PowerScene(seed, .log)
        scene.keys = [1]
        try scene.open()
        // No dispatcher needs the events, so that their segments are dropped, at last also that of the newest.
        var last: SequenceNumber = 0
        let append = {
            last += 1
            #expect(scene.append(last) == nil)
        }
        for _ in 0..<60 { append() }
        scene.kill()
        scene.keys = [2, 1]
        try scene.open()
        append()
        for _ in 0..<200 where try scene.needs(1) { scene.write() }
        // Otherwise nothing has synced the frames that made the last files under the key obsolete.
        if isSynced { append() }
        try #require(try !scene.needs(1))
        scene.losePower()
        scene.keys = [2]
        #expect(throws: Never.self) { try scene.open() }
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

/// The store whose machine loses power.
enum PoweredKind: CaseIterable { case log, sqlite }

/// A store on a disk, without a daemon.
private final class PowerScene {
    private let record: Record
    private let medium = SimulatedMedium()
    private(set) var disk: SimulatedDisk
    private let kind: PoweredKind
    private var engine: (any PoweredEngine)?
    /// The keys of the next start, the first of which encrypts.
    var keys: [UInt8] = []

    init(_ seed: Seed, _ kind: PoweredKind) {
        self.kind = kind
        record = Record(seed: seed)
        disk = SimulatedDisk(medium, record)
    }

    /// Opens the store. Returns the numbers of the stored events.
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
        if !keys.isEmpty {
            let keys = keys.map { EncryptionKey(number: UInt16($0), bytes: [UInt8](repeating: $0, count: 32)) }
            options.keyring = Keyring(EncryptionKeys(keys), encrypts: true)
        }
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

    /// Writes a change, which a log does not sync.
    func write(_ change: StoreChange = .keep("name", [1])) {
        engine?.write([change])
    }

    var log: SegmentLog? { (engine as? LogEngine)?.log }

    /// Returns true if the log reports files that need a key.
    func needs(_ key: UInt16) throws -> Bool { try log?.bytesByKey(with: [])[key] != nil }

    func kill() {
        disk.end()
        engine = nil
        disk = SimulatedDisk(medium, record)
    }

    func losePower() {
        disk.end()
        engine = nil
        medium.losePower(record)
        disk = SimulatedDisk(medium, record)
    }
}

/// The engine of a store, as the store's thread uses it.
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
