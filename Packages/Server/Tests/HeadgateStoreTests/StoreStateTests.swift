import HeadgateCore
import HeadgateCoreTesting
import Testing

@testable import HeadgateStore

@Suite("Event store: the state after a restart")
struct StoreStateTests {
    let scene = StoreScene()

    @Test("Q3: dispatchers, routes and groups are restored")
    func comesBack() throws {
        try scene.open()
        let orphan = StoredDispatcher(number: 2, id: "archive", settled: Settled(through: 1), orphanedSince: 77)
        #expect(scene.write(.dispatcher(.at(0)), .dispatcher(orphan)) == nil)
        let group = Groups.of(1...3, newRoutes: [1: [1, 2], 2: []])
        #expect(scene.append(group) == nil)
        let state = try scene.reopen()
        #expect(state.dispatchers == [.at(0), orphan])
        #expect(state.routes == [1: [1, 2], 2: []])
        #expect(state.lastSequenceNumber == 3)
        #expect(state.warnings.isEmpty)
        let chunk = try #require(try scene.read(after: 0))
        #expect(chunk.bytes == group.chunk.bytes)
        #expect(chunk.lastSequenceNumber == 3)
    }

    @Test("X2: unused routes are forgotten, also those whose group could not be stored")
    func forgottenRoutes() throws {
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        scene.append(Groups.of(1...1, newRoutes: [1: [1], 2: [2], 3: [3], 4: [1, 2]]))
        #expect(scene.write(.forgetRoutes([2, 4, 77])) == nil)
        #expect(try scene.reopen().routes == [1: [1], 3: [3]])
    }

    @Test("Q3: bytes are counted as the queue counts them")
    func bytes() throws {
        try scene.open()
        scene.write(.dispatcher(.at(1)))
        let group = Groups.of(1...2, newRoutes: [1: [1]])
        let last = try #require(Array(group.chunk).last)
        scene.append(group)
        #expect(try scene.reopen().unsettled == [1: [1: Tally(events: 1, bytes: last.byteCount)]])
        scene.write(.settled(1, Settled(through: 0)))
        #expect(try scene.reopen().unsettled == [1: [1: try #require(group.tallies[1])]])
    }

    @Test("Q3: a forgotten dispatcher loses its dead letters, and others keep theirs")
    func forgotten() throws {
        try scene.open()
        scene.write(.dispatcher(.at(0)), .dispatcher(.at(0, number: 2, id: "archive")))
        scene.write(.deadLetter(.sample(1, dispatcher: 1)), .deadLetter(.sample(2, dispatcher: 2)))
        scene.write(.forgetDispatcher(1))
        #expect(try scene.reopen().dispatchers.map(\.number) == [2])
        let deadLetters = try scene.answer { scene.store.readDeadLetters(DeadLetterQuery(limit: 9), then: $0) }.get()
            .deadLetters
        #expect(deadLetters.map(\.deadLetter.dispatcher) == [2])
    }

    @Test("Q3: a changed dispatcher is read in its latest state")
    func changedDispatcher() throws {
        try scene.open()
        scene.write(.dispatcher(.at(5)))
        scene.write(
            .dispatcher(StoredDispatcher(number: 1, id: "collect", settled: Settled(through: 9), orphanedSince: 3)))
        #expect(
            try scene.reopen().dispatchers
                == [StoredDispatcher(number: 1, id: "collect", settled: Settled(through: 9), orphanedSince: 3)])
    }

    @Test("Q7: recent ids are restored oldest first, without the forgotten ones")
    func recentIDs() throws {
        try scene.open()
        for number in 1...200 as ClosedRange<SequenceNumber> {
            let ids = RecentIDs(
                lastSequenceNumber: number, receivedStamp: 10 * number, count: 1, bytes: [UInt8(number)])
            scene.append(Groups.of(number...number, recentIDs: ids))
        }
        #expect(try scene.reopen().recentIDs.map(\.lastSequenceNumber) == Array(1...200))
        scene.write(.forgetIDs(through: 198))
        let ids = try scene.reopenWhenIdle().recentIDs
        #expect(ids.map(\.lastSequenceNumber) == [199, 200])
        #expect(ids.last == RecentIDs(lastSequenceNumber: 200, receivedStamp: 2_000, count: 1, bytes: [200]))
    }

    @Test("P7: the newest event's time of receipt is restored, so that later events are not older")
    func newestStamp() throws {
        #expect(try scene.open().newestStamp == nil)
        scene.append(Groups.of(1...1, received: 7_000))
        scene.append(Groups.of(2...3, received: 9_000))
        scene.write(.trim(through: 3))
        #expect(try scene.reopenWhenIdle().newestStamp == 9_000)
    }

    @Test("P1: a group's initial state is stored with it, and does not change known positions and values")
    func initialState() throws {
        try scene.open()
        scene.write(
            .dispatcher(StoredDispatcher(number: 1, id: "known", settled: Settled(through: 7), orphanedSince: 4)),
            .keep("key", [1]))
        var initialState = InitialState()
        initialState.dispatchers = [
            StoredDispatcher(number: 1, id: "known", settled: Settled(through: 0)),
            StoredDispatcher(number: 2, id: "new", settled: Settled(through: 5), orphanedSince: 6),
        ]
        initialState.kept = ["key": [2], "other": [3]]
        #expect(scene.append(Groups.of(8...9).with(initialState: initialState)) == nil)
        let state = try scene.reopen()
        #expect(state.dispatchers.map(\.id) == ["known", "new"])
        #expect(state.dispatchers.map(\.position) == [7, 5])
        #expect(state.dispatchers.map(\.orphanedSince) == [nil, 6])
        #expect(state.kept == ["key": [1], "other": [3]])
    }

    @Test("B23: a value stored under a name is restored, empty or not, until it is removed")
    func kept() throws {
        try scene.open()
        scene.write(.keep("pause", [1, 2]), .keep("empty", []), .keep("gone", [3]), .keep("ünïcode", [4]))
        scene.write(.keep("pause", [5]), .keep("gone", nil), .keep("never", nil))
        #expect(try scene.reopen().kept == ["pause": [5], "empty": [], "ünïcode": [4]])
    }
}
