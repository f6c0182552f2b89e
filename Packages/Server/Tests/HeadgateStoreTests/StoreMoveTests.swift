import Foundation
import HeadgateCore
import HeadgateCoreTesting
import Testing

@testable import HeadgateStore

@Suite("Event store on disk: moves from one kind to the other")
struct StoreMoveTests {
    /// From which kind to which.
    private static let moves: [(StoreKind, StoreKind)] = [(.sqlite, .log), (.log, .sqlite)]

    let scene = StoreScene()

    /// Events for two dispatchers, of which one has settled some and the other all; two letters, of which the first is gone.
    private func fill(_ kind: StoreKind) throws -> StoredState {
        scene.options.kind = kind
        try scene.open()
        let ids = RecentIDs(lastSequenceNumber: 6, receivedStamp: 900, count: 2, bytes: Array(1...32))
        let group = Groups.of(
            (1...6).map { ($0, $0 % 2 == 0 ? 2 : 1) }, newRoutes: [1: [1], 2: [1, 2]], recentIDs: ids)
        var groundwork = Groundwork()
        groundwork.dispatchers = [.at(0), .at(0, number: 2, id: "archive")]
        groundwork.kept = ["key": [1, 2, 3]]
        #expect(
            scene.append(group.with(groundwork: groundwork)) == nil
                && scene.append(Groups.of(7...9, route: 2, received: 2_000)) == nil)
        let orphan = StoredDispatcher(
            number: 2, id: "archive", settled: Settled(through: 9), orphanedSince: 77)
        #expect(
            scene.write(
                .deadLetter(.sample(1)), .deadLetter(.sample(3, record: Groups.of(3...3).chunk.bytes)),
                .settled(1, Settled(through: 1, and: [3...5])), .dispatcher(orphan)) == nil)
        #expect(try scene.answer { scene.store.purgeLetters(LetterQuery(letters: [1], limit: 9), then: $0) }.get() == 1)
        return try scene.reopen()
    }

    private func letters() throws -> LetterPage {
        try scene.answer { scene.store.readLetters(LetterQuery(limit: 9), then: $0) }.get()
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: scene.directory).sorted()
    }

    private func expectSame(_ state: StoredState, as before: StoredState) throws {
        #expect(state.dispatchers == before.dispatchers && state.routes == before.routes && state.kept == before.kept)
        #expect(state.lastSequenceNumber == 9 && state.newestStamp == 2_000 && state.unsettled == before.unsettled)
        #expect(state.recentIDs.filter { $0.count > 0 } == before.recentIDs)
        #expect(try scene.numbers(after: 1).filter { ![3, 4, 5].contains($0) } == [2, 6, 7, 8, 9])
        let page = try letters()
        #expect(page.letters.map(\.number) == [2] && page.letters.first?.letter.sequenceNumber == 3)
        #expect(page.letters.first?.letter.event?.sequenceNumber == 3 && page.newest == 2)
    }

    @Test("Q1: a start with another kind has all that was stored, and the old files are gone", arguments: moves)
    func moved(_ old: StoreKind, _ new: StoreKind) throws {
        let before = try fill(old)
        scene.close()
        scene.options.kind = new
        let state = try scene.open()
        #expect(state.warnings == [] && scene.store.kind == new.rawValue)
        try expectSame(state, as: before)
        #expect(try names().contains("events.db") == (new == .sqlite))
        #expect(try names().allSatisfy { !$0.contains("-to-") })
        // Letters go on with the next number.
        scene.write(.deadLetter(.sample(6)))
        #expect(try letters().letters.map(\.number) == [2, 3])
        try expectSameNumbers()
    }

    private func expectSameNumbers() throws {
        #expect(scene.append(Groups.of(10...10, route: 2)) == nil)
        #expect(try scene.reopen().lastSequenceNumber == 10)
    }

    @Test("Q1: a move that was cut off before it was done is begun anew", arguments: moves)
    func cutOffBefore(_ old: StoreKind, _ new: StoreKind) throws {
        let before = try fill(old)
        scene.close()
        // Half of a new store, which counts for nothing.
        let half = new == .log ? "/log/000001.log" : "/events.db"
        try FileManager.default.createDirectory(
            atPath: scene.directory + "/log", withIntermediateDirectories: true)
        for name in ["/moving-to-\(new.rawValue)", half] {
            #expect(FileManager.default.createFile(atPath: scene.directory + name, contents: Data("half".utf8)))
        }
        scene.options.kind = new
        let state = try scene.open()
        #expect(state.warnings == [])
        try expectSame(state, as: before)
    }

    @Test("Q1: a move that was cut off when all was there is brought to its end", arguments: moves)
    func cutOffBehind(_ old: StoreKind, _ new: StoreKind) throws {
        let before = try fill(old)
        scene.close()
        let copy = NSTemporaryDirectory() + "/headgate-store-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: copy) }
        try FileManager.default.copyItem(atPath: scene.directory, toPath: copy)
        scene.options.kind = new
        _ = try scene.open()
        scene.close()
        // The old store as it was, beside the new one.
        let name = old == .log ? "/log" : "/events.db"
        try? FileManager.default.removeItem(atPath: scene.directory + name)
        try FileManager.default.copyItem(atPath: copy + name, toPath: scene.directory + name)
        #expect(FileManager.default.createFile(atPath: scene.directory + "/moved-to-\(new.rawValue)", contents: nil))
        let state = try scene.open()
        #expect(state.warnings == [] && scene.store.kind == new.rawValue)
        try expectSame(state, as: before)
        #expect(try names().contains("events.db") == (new == .sqlite))
    }

    @Test("Q1: where what is stored cannot be moved, the store stays as it is, and says so", arguments: moves)
    func stays(_ old: StoreKind, _ new: StoreKind) throws {
        let before = try fill(old)
        scene.close()
        // A folder that cannot be made, or a database that may not grow.
        try? FileManager.default.createSymbolicLink(
            atPath: scene.directory + "/log", withDestinationPath: "/nowhere/to/be/found")
        scene.options.mostPages = 4
        scene.options.kind = new
        let state = try scene.open()
        #expect(state.warnings.count == 1 && state.warnings[0].contains("stays \(old.rawValue)"), "\(state.warnings)")
        #expect(scene.store.kind == old.rawValue)
        try expectSame(state, as: before)
    }

    @Test("Q1: a second store that nobody made of the first is set aside, and told of", arguments: moves)
    func beside(_ old: StoreKind, _ new: StoreKind) throws {
        _ = try fill(new)
        scene.close()
        let name = old == .log ? "/log/000001.log" : "/events.db"
        try FileManager.default.createDirectory(
            atPath: scene.directory + "/log", withIntermediateDirectories: true)
        #expect(FileManager.default.createFile(atPath: scene.directory + name, contents: Data("strange".utf8)))
        let state = try scene.open()
        #expect(state.warnings.count == 1 && state.warnings[0].contains("unused"), "\(state.warnings)")
        #expect(state.lastSequenceNumber == 9)
        #expect(try names().contains { $0.contains(".unused-") })
    }
}
