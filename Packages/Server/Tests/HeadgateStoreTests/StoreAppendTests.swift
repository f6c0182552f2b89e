import Foundation
import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("SQLite event store: appends")
struct StoreAppendTests {
    let scene = StoreScene()

    @Test("Q5: what waits together is committed together, reads in between or not")
    func coalesce() throws {
        let database = try StoreDatabase.open(scene.options).0
        let before = try WriteAheadLog(path: scene.databasePath + "-wal").commits
        let jobs = (1...20).flatMap {
            [StoreJob.append(Groups.of($0...$0)), .read(after: 0), .write([.settled(1, Settled(through: $0))])]
        }
        var outcomes: [StoreOutcome] = []
        database.carryOut(jobs) { outcomes += $0 }
        #expect(outcomes.count == 60)
        #expect(try WriteAheadLog(path: scene.databasePath + "-wal").commits == before + 1)
    }

    @Test("Q5: a read sees what was appended before it, and nothing that came later")
    func readsInTurn() throws {
        let database = try StoreDatabase.open(scene.options).0
        var seen: [[SequenceNumber]] = []
        let jobs: [StoreJob] = [
            .read(after: 0), .append(Groups.of(1...2)), .read(after: 0), .append(Groups.of(3...4)), .read(after: 0),
        ]
        database.carryOut(jobs) { outcomes in
            for case .read(.success(let chunk)) in outcomes { seen.append(chunk?.map(\.sequenceNumber) ?? []) }
        }
        #expect(seen == [[], [1, 2], [1, 2, 3, 4]])
    }

    @Test(
        "Q5: with full durability appends are synced and mere changes are not", arguments: [Durability.full, .normal])
    func synced(_ durability: Durability) throws {
        var options = scene.options
        options.durability = durability
        let database = try StoreDatabase.open(options).0
        database.carryOut([.append(Groups.of(1...1))]) { _ in }
        #expect(try database.connection.integer("PRAGMA synchronous") == (durability == .full ? 2 : 1))
        database.carryOut([.write([.settled(1, Settled(through: 1))])]) { _ in }
        #expect(try database.connection.integer("PRAGMA synchronous") == 1)
        database.carryOut([.write([]), .append(Groups.of(2...2))]) { _ in }
        #expect(try database.connection.integer("PRAGMA synchronous") == (durability == .full ? 2 : 1))
    }

    @Test("Q5: a group is kept whole or not at all, and takes no other with it")
    func wholeOrNot() throws {
        try scene.open()
        scene.append(Groups.of(1...3, newRoutes: [1: [1]]))
        let ids = RecentIDs(lastSequenceNumber: 3, receivedStamp: 1, count: 1, bytes: [1])
        var faults: [StoreFault?] = []
        scene.store.append(Groups.of(4...5)) { faults.append($0) }
        scene.store.append(Groups.of(2...3, newRoutes: [2: [1, 2]], recentIDs: ids)) { faults.append($0) }
        scene.store.append(Groups.of(6...7, route: 2)) { faults.append($0) }
        scene.write()
        #expect(faults.map { $0 == nil } == [true, false, true])
        let state = try scene.reopen()
        #expect(state.recentIDs.isEmpty)
        #expect(try scene.numbers() == Array(1...7))
        // The event with number 6 takes route 2, which the refused group should have brought.
        #expect(state.routes == [1: [1], 2: [1, 2]])
    }

    @Test("Q5: what was acknowledged is in the files, whole, and what was cut off is gone, whole")
    func filesAtAMoment() throws {
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        scene.append(Groups.of(1...100, newRoutes: [1: [1]]))
        let early = try copy(cuttingOff: 0)
        scene.append(Groups.of(101...200, size: 500))
        for (directory, count) in [(early, 100), (try copy(cuttingOff: 0), 200), (try copy(cuttingOff: 1_000), 100)] {
            let copied = StoreScene()
            copied.options.directory = directory
            #expect(try copied.open().unsettled[1]?[1]?.events == count)
            #expect(try copied.numbers() == Array(1...SequenceNumber(count)))
        }
    }

    /// Copies the files as they are, without the last bytes of the log: what a power failure may leave.
    private func copy(cuttingOff bytes: Int) throws -> String {
        let target = scene.directory + "/copy-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
        try Data(contentsOf: URL(fileURLWithPath: scene.databasePath))
            .write(to: URL(fileURLWithPath: target + "/events.db"))
        try Data(contentsOf: URL(fileURLWithPath: scene.databasePath + "-wal")).dropLast(bytes)
            .write(to: URL(fileURLWithPath: target + "/events.db-wal"))
        return target
    }

    @Test("Q5: another program's lock on the file is waited for, not taken for a loss")
    func busy() throws {
        try scene.open()
        let other = try SQLiteConnection(path: scene.databasePath)
        try other.execute("BEGIN IMMEDIATE")
        var fault: StoreFault? = .failed("no answer")
        scene.store.append(Groups.of(1...1)) { fault = $0 }
        try other.execute("COMMIT")
        scene.write()
        #expect(fault == nil)
        #expect(try scene.numbers() == [1])
    }

    @Test("Q1: a store that is not open says so")
    func notOpen() throws {
        try scene.open()
        scene.close()
        #expect(scene.append(Groups.of(1...1)) == .failed("the event store is not open"))
        #expect(throws: StoreFault.failed("the event store is not open")) { try scene.read(after: 0) }
        scene.close()
        #expect(try scene.store.open().lastSequenceNumber == 0)
        #expect(throws: StoreFault.failed("the store is open already")) { try scene.store.open() }
    }

    @Test("Q1: closing finishes what was asked for, and leaves one file and the lock's")
    func closing() throws {
        try scene.open()
        var answers = 0
        for number in 1...20 as ClosedRange<SequenceNumber> {
            scene.store.append(Groups.of(number...number)) { _ in answers += 1 }
        }
        scene.close()
        #expect(answers == 20)
        let files = try FileManager.default.contentsOfDirectory(atPath: scene.directory)
        #expect(files.sorted() == ["events.db", "headgate.lock"])
        #expect(try scene.open().lastSequenceNumber == 20)
    }
}
