import HeadgateCoreTesting
import HeadgateData
import HeadgateSeeds
import Testing

@testable import HeadgateCore
@testable import HeadgateServer
@testable import HeadgateStore

/// A log in which one dispatcher needs a little of each segment, and the others nothing.
@Suite("Copying the needed events of sparse segments")
struct LogCopyTests {
    @Test("Q10: a copy recorded in the first frame of the next segment is used", arguments: 0...60)
    func atTheEndOfASegment(_ count: Int) throws {
        let scene = try LogCopyScene()
        for _ in 0..<count { scene.change() }
        scene.doAllBackgroundWork()
        // A copy that starts now reads all segments.
        for _ in 0..<40 { scene.change() }
        #expect(scene.copied > 0)
        #expect(scene.needed() == scene.matching)
        try scene.reopen()
        #expect(scene.needed() == scene.matching)
    }

    @Test("Q8: damaged events are counted, and no dispatcher waits for them after the copy")
    func damaged() throws {
        let scene = try LogCopyScene()
        #expect(scene.corrupt(scene.matching[1]))
        // A segment without needed events may be dropped during the copy, which then starts again.
        for _ in 0..<3 {
            for _ in 0..<70 { scene.change() }
            scene.doAllBackgroundWork()
        }
        #expect(scene.copied > 0)
        let left = scene.matching.filter { $0 != scene.matching[1] }
        #expect(scene.quarantined > 0)
        #expect(scene.needed() == left)
        try scene.reopen()
        #expect(scene.needed() == left && scene.quarantined == 0)
    }

    @Test("Q8: a missing part of a block to be copied is counted once", arguments: 0...12)
    func missedMeanwhile(_ steps: Int) throws {
        let scene = try LogCopyScene()
        #expect(scene.corrupt(scene.matching[1]))
        for _ in 0..<steps { scene.doBackgroundStep() }
        let left = scene.matching.filter { $0 != scene.matching[1] }
        #expect(scene.needed() == left)
        let missed = scene.quarantined
        scene.doAllBackgroundWork()
        #expect(missed + scene.quarantined == 1)
        #expect(scene.needed() == left)
    }

    @Test("Q5, Q10: the copy survives a failed sync and the log's recovery", arguments: 0...12)
    func repaired(_ steps: Int) throws {
        let scene = try LogCopyScene()
        for _ in 0..<steps { scene.doBackgroundStep() }
        scene.disk.mood.failsToSync = 1
        #expect(scene.append(route: 1, size: 20) != nil)
        scene.disk.mood.failsToSync = nil
        scene.doAllBackgroundWork()
        #expect(scene.needed() == scene.matching)
        try scene.reopen()
        #expect(scene.needed() == scene.matching)
    }
}

/// A log in which dispatcher 1 has settled all its events, and dispatcher 2 gets every fifth event and settles none.
private final class LogCopyScene {
    /// The events that are needed.
    private(set) var matching: [SequenceNumber] = []
    private(set) var disk: SimulatedDisk
    private let medium = SimulatedMedium()
    private let record = Record(seed: Seed(1))
    private var engine: LogEngine?
    private var last: SequenceNumber = 0

    init() throws {
        disk = SimulatedDisk(medium, record)
        try open()
        for number: DispatcherNumber in 1...2 {
            write(.dispatcher(StoredDispatcher(number: number, id: "d\(number)", settled: Settled(through: 0))))
        }
        for index in 0..<30 {
            let isNeeded = index % 5 == 0
            #expect(append(route: isNeeded ? 2 : 1, size: isNeeded ? 10 : 600) == nil)
            if isNeeded { matching.append(last) }
        }
        write(.settled(1, Settled(through: last)))
        // A start causes all segments to be checked.
        try reopen()
    }

    private func open() throws {
        var options = DiskEventStore.Options(directory: "/data")
        options.disk = disk
        (options.segmentSize, options.blockSize) = (4 << 10, 512)
        engine = try options.open().engine
    }

    func reopen() throws {
        disk.end()
        disk = SimulatedDisk(medium, record)
        try open()
    }

    // MARK: Writing

    func append(route: RouteNumber, size: Int) -> StoreFault? {
        var writer = RecordWriter()
        let draft = EventDraft(id: "e\(last + 1)", data: #"{"p":"\#(String(repeating: "p", count: size))"}"#)
        let bytes = draft.withTracked(route: route, spareId: "") { event in
            writer.append(
                event, sequenceNumber: last + 1, receivedAt: Timestamp(milliseconds: 0), receivedStamp: 0)
        }
        let group = AppendGroup(
            chunk: Chunk(bytes: writer.take(), lastSequenceNumber: last + 1),
            tallies: [route: Tally(events: 1, bytes: bytes)], ages: GroupAges(),
            newRoutes: last == 0 ? [1: [1], 2: [1, 2]] : [:], recentIDs: nil)
        guard case .failure(let fault) = engine?.commit([.append(group)]) else {
            last += 1
            engine?.lastAppended = last
            return nil
        }
        return fault
    }

    private func write(_ change: StoreChange) {
        _ = engine?.commit([.write([change])])
    }

    /// Writes a small change.
    func change() { write(.keep("name", [1])) }

    // MARK: Background work

    func doBackgroundStep() {
        engine?.resumeBackgroundWork()
        engine?.doBackgroundWork()
    }

    func doAllBackgroundWork() {
        for _ in 0..<200 where engine?.hasBackgroundWork == true { doBackgroundStep() }
    }

    // MARK: Damage

    /// Damages an event.
    /// - Returns: True if the event was found.
    func corrupt(_ number: SequenceNumber) -> Bool {
        let id = Array("\"e\(number)\"".utf8)
        for path in medium.names.keys.sorted() {
            guard let node = medium.names[path] else { continue }
            let index = node.bytes.indices.first { node.bytes[$0...].starts(with: id) }
            guard let index else { continue }
            node.corrupt(at: index + 1, bit: 1)
            return true
        }
        return false
    }

    /// The number of events quarantined since the last query.
    var quarantined: Int { engine?.log.losses.take().quarantined ?? 0 }

    /// The number of segments replaced by a copy.
    var copied: Int { engine?.counts.copied ?? 0 }

    /// Returns the readable events of the dispatcher that needs some.
    func needed() -> [SequenceNumber] {
        var (numbers, index): ([SequenceNumber], SequenceNumber) = ([], 0)
        while let chunk = try? engine?.read(after: index).get() {
            numbers += chunk.filter { $0.route == 2 }.map(\.sequenceNumber)
            index = chunk.lastSequenceNumber
        }
        return numbers
    }
}
