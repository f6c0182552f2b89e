import Foundation
import HeadgateCore
import HeadgateTransport
import Testing

@testable import HeadgateStore

/// Tests that segments are dropped and copied correctly, wherever the active segment ends.
@Suite("The segments of a log")
struct SegmentLogTests {
    /// Numbers of small changes to test with: from none to more than fit into one segment.
    private static let fills = 0..<40

    @Test("Q10: no file is used for two segments, wherever a segment ends while released ones are removed")
    func madeRoom() throws {
        for fill in SegmentLogTests.fills {
            let scene = try LogScene()
            try scene.track(1...60)
            try scene.change(.settled(1, Settled(through: 60)))
            try scene.fill(fill)
            try scene.log.makeRoom()
            try scene.track(61...120)
            try scene.check([1: Array(61...120)], "\(fill)")
        }
    }

    @Test("Q10, P1: copied records are found, wherever a segment ends while the copy is reported")
    func copied() throws {
        for fill in SegmentLogTests.fills {
            let scene = try LogScene()
            try scene.trackForTwo(1...60)
            try scene.fill(fill)
            let copy = try #require(try LogCopy(scene.log))
            while try copy.step() {}
            try scene.check([2: [10, 20, 30, 40, 50, 60]], "\(fill)")
            #expect(try scene.deadLetters == [10], "\(fill)")
            try scene.track(61...120)
            try scene.check([1: Array(61...120), 2: [10, 20, 30, 40, 50, 60]], "\(fill)")
        }
    }

    @Test("Q8: an event that is found damaged during a copy is quarantined and counted, once")
    func copiedWithDamage() throws {
        for fill in [0, 20] {
            let scene = try LogScene()
            try scene.trackForTwo(1...60)
            try scene.fill(fill)
            try scene.corrupt("event-20")
            let copy = try #require(try LogCopy(scene.log))
            while try copy.step() {}
            #expect(scene.log.counts.copied > 0)
            #expect(scene.log.losses.take().quarantined == 1)
            let aside = try scene.disk.list(scene.log.options.logDirectory + "/damaged")
            #expect(aside.count == 1)
            try scene.check([2: [10, 30, 40, 50, 60]], "\(fill)")
            #expect(try scene.deadLetters == [10])
            #expect(scene.log.losses.take().quarantined == 0)
        }
    }

    @Test(
        "Q8, D10: a dead letter found damaged during a copy is counted as damage, and no longer as a dead letter")
    func copiedWithDamagedDeadLetter() throws {
        let scene = try LogScene()
        try scene.change(.deadLetter(.sample(9)))
        try scene.trackForTwo(1...60)
        // `busy` is the destination's answer in the first dead letter.
        try scene.corrupt("busy")
        let copy = try #require(try LogCopy(scene.log))
        while try copy.step() {}
        #expect(scene.log.losses.take().quarantined == 1)
        #expect(scene.log.state.deadLetters.entries.map(\.sequenceNumber) == [10])
        try scene.check([2: [10, 20, 30, 40, 50, 60]], "")
        #expect(try scene.deadLetters == [10])
    }

    @Test("Q10, P1: a copy whose sources are all released is dropped, and delays nothing")
    func copiedInVain() throws {
        for fill in SegmentLogTests.fills {
            var steps = 0
            for last in [Int.max, 0] {
                let scene = try LogScene()
                try scene.trackForTwo(1...60, deadLetter: nil)
                try scene.beginSegment()
                try scene.track(61...70, size: 900)
                try scene.fill(fill)
                let copy = try #require(try LogCopy(scene.log))
                if last == .max {
                    while try copy.step() { steps += 1 }
                    continue
                }
                for _ in 0..<steps { #expect(try copy.step()) }
                try scene.change(.settled(2, Settled(through: 60)))
                #expect(try !copy.step())
                try scene.check([1: Array(61...70), 2: []], "\(fill)")
                try scene.track(71...90)
                try scene.check([1: Array(61...90), 2: []], "\(fill)")
            }
        }
    }

    @Test(
        "Q8, P1: nothing is lost if the replacement of sources by a copy could not be written at first",
        arguments: [false, true])
    func reportedAllTheSame(continues: Bool) throws {
        for fill in SegmentLogTests.fills {
            let scene = try LogScene()
            try scene.trackForTwo(1...60)
            try scene.fill(fill)
            let copy = try #require(try LogCopy(scene.log))
            scene.disk.liesAbout = scene.log.files.path(scene.log.active.segment.file.number)
            do { while try copy.step() {} } catch { copy.cancel() }
            scene.disk.liesAbout = nil
            // Reopening reads the log as another process would.
            if !continues { try scene.reopen() }
            try scene.track(61...120)
            #expect(try scene.deadLetters == [10], "\(fill)")
            try scene.check([1: Array(61...120), 2: [10, 20, 30, 40, 50, 60]], "\(fill)")
        }
    }

    @Test("Q4, Q8: after a restart, every dispatcher has settled the trimmed events")
    func trimmed() throws {
        let scene = try LogScene()
        try scene.track(1...5)
        try scene.change(.settled(2, Settled(through: 0, and: [4...4])), .trim(through: 3))
        let state = try scene.options.open().state
        #expect(state.dispatchers.map(\.settled) == [Settled(through: 3), Settled(through: 4)])
        #expect(state.unsettled[1]?[1]?.events == 2)
    }

    @Test("Q6: a segment leaves the page cache when the next segment begins, and not before")
    func leavesCache() throws {
        let scene = try LogScene()
        try scene.track(1...3)
        #expect(scene.disk.leftCache == [])
        for _ in 0..<3 { try scene.beginSegment() }
        let sealed = scene.log.segments.dropLast().map { scene.log.files.path($0.file.number) }
        #expect(sealed.count >= 1 && scene.disk.leftCache.count == 3)
        #expect(Set(scene.disk.leftCache).isSuperset(of: sealed))
        #expect(!scene.disk.leftCache.contains(scene.log.files.path(scene.log.active.segment.file.number)))
    }

    @Test("Q5, Q8: with durability normal, written frames are synced during later writes, and are certain then")
    func syncsAhead() throws {
        let scene = try LogScene()
        #expect(!scene.log.active.isSyncDue)
        var end = 0
        for number in 1...12 as ClosedRange<SequenceNumber> where !scene.log.active.isSyncDue {
            try scene.track(number...number)
            end = scene.log.active.end
        }
        #expect(scene.log.active.isSyncDue)
        try scene.log.syncAhead()
        #expect(!scene.log.active.isSyncDue && scene.log.active.certain < end)
        try scene.log.syncAhead()
        #expect(scene.log.active.certain == end)
    }

    @Test("Q8, P1: if a sync in progress fails, uncertain frames are written again")
    func syncAheadFails() throws {
        let scene = try LogScene()
        try scene.track(1...3)
        try scene.log.syncAhead()
        try scene.track(4...4)
        scene.disk.failsToSync = true
        #expect(throws: DiskFault.self) { try scene.log.syncAhead() }
        scene.disk.failsToSync = false
        #expect(scene.log.isBroken)
        try scene.track(5...8)
        #expect(scene.log.counts.recovered == 1)
        try scene.check([1: Array(1...8), 2: []], "")
    }

    @Test(
        "Q10: a prepared file has its disk space allocated, and is written to only with durability full",
        arguments: [true, false])
    func ready(isFilled: Bool) throws {
        let (writes, scene) = (Guarded(0), try LogScene())
        let disk = FaultyDisk(onWrite: { writes.withLock { $0 += 1 } })
        var options = scene.options
        (options.disk, options.segmentSize, options.durability) = (disk, 1 << 20, isFilled ? .full : .normal)
        let files = LogFiles(options)
        _ = try files.list()
        while files.isShort { try files.makeReady() }
        let file = try files.take(atLeast: 1 << 20)
        #expect(writes.withLock { $0 > 0 } == isFilled)
        var status = stat()
        #expect(stat(files.path(file.number), &status) == 0)
        #expect(status.st_size == 1 << 20 && status.st_blocks * 512 >= 1 << 20)
    }

    @Test(
        "Q7, Q6: many ids get a file of their own before the next segment is begun, and are remembered once after a restart"
    )
    func idsAhead() throws {
        let scene = try LogScene()
        scene.options.mostUnfiledIDBytes = 33
        try scene.reopen()
        try scene.track(1...3, remembersIDs: true)
        #expect(!scene.log.areIDsDue)
        try scene.track(4...4, remembersIDs: true)
        #expect(scene.log.areIDsDue)
        while scene.log.areIDsDue { try scene.log.fileIDs() }
        #expect(scene.log.state.ids.recent == [] && scene.log.state.ids.files.count == 1)
        let file = try #require(scene.log.state.ids.files.first).file
        // If the daemon is killed now, the next start reads the ids from the segment.
        try scene.reopen()
        #expect(scene.log.state.ids.recent.map(\.lastSequenceNumber) == [1, 2, 3, 4])
        #expect(scene.log.state.ids.files.count == 0 && !scene.log.files.isThere(file.number))
        // The next segment names the file of ids, and contains only the later id.
        try scene.log.fileIDs()
        try scene.track(5...5, remembersIDs: true)
        try scene.beginSegment()
        try scene.reopen()
        #expect(scene.log.state.ids.files.map(\.last) == [4, 5])
        #expect(scene.log.state.ids.recent == [])
    }

    @Test("Q7, P1: a file of forgotten ids is not removed once another file has its number")
    func forgottenIDs() throws {
        let scene = try LogScene()
        scene.options.mostUnfiledIDBytes = 1
        try scene.reopen()
        try scene.track(1...60, remembersIDs: true)
        try scene.change(.settled(1, Settled(through: 60)), .forgetIDs(through: 60))
        try scene.log.makeRoom()
        try scene.reopen()
        try scene.track(61...120)
        try scene.check([1: Array(61...120)], "")
    }

    @Test("Q8: a copy in progress at a recovery is dropped, with its file")
    func recovered() throws {
        let scene = try LogScene(.full)
        try scene.trackForTwo(1...60)
        let before = Set(try scene.names)
        let copy = try #require(try LogCopy(scene.log))
        #expect(try copy.step())
        let name = try #require(try scene.names.first { !before.contains($0) })
        scene.disk.failsToSync = true
        #expect(throws: DiskFault.self) { try scene.track(61...61) }
        scene.disk.failsToSync = false
        try scene.track(61...90)
        #expect(try !scene.names.contains(name))
        #expect(try !copy.step())
        try scene.check([1: Array(61...90), 2: [10, 20, 30, 40, 50, 60]], "")
    }

    @Test("Q8: a segment that was begun and dropped is never read as a later one with its number")
    func begunInVain() throws {
        let scene = try LogScene(.full)
        // The first write of a segment fills a block of 4 KiB.
        scene.options.segmentSize = 64 << 10
        try scene.reopen()
        let begun = scene.log.counts.begun
        var last: SequenceNumber = 0
        while scene.log.counts.begun == begun {
            last += 1
            try scene.track(last...last)
        }
        let (number, path) = (
            scene.log.active.segment.number, scene.log.files.path(scene.log.active.segment.file.number)
        )
        try scene.track(last + 1...last + 20)
        // Simulates a segment whose header was never written to the disk.
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.write(contentsOf: Data(repeating: 0, count: LogHeader.size))
        try file.close()
        for _ in 0..<2 {
            try scene.reopen()
            #expect(scene.log.active.segment.number >= number)
            try scene.check([1: Array(1..<last)], "")
        }
    }
}

/// A log of small segments in a temporary directory.
private final class LogScene {
    let disk = FaultyDisk()
    var options: StoreOptions
    private(set) var log: SegmentLog

    init(_ durability: Durability = .normal) throws {
        options = StoreOptions(
            directory: NSTemporaryDirectory() + "/headgate-log-" + UUID().uuidString, durability: durability)
        (options.segmentSize, options.blockSize, options.disk) = (4_096, 512, disk)
        try disk.makeDirectory(options.logDirectory)
        log = try LogScene.open(options)
        try change(.dispatcher(.at(0)), .dispatcher(.at(0, number: 2, id: "held")))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: options.directory)
    }

    private static func open(_ options: StoreOptions) throws -> SegmentLog {
        var recovery = LogRecovery(options)
        let recovered = try recovery.run()
        #expect(recovered.warnings == [])
        return SegmentLog(recovered, options: options)
    }

    func reopen() throws {
        log = try LogScene.open(options)
    }

    var names: [String] { get throws { try disk.list(options.logDirectory) } }

    // MARK: Writing

    private func write(_ entry: LogEntry) throws {
        #expect(try log.write([entry]) == 1)
    }

    func change(_ changes: StoreChange...) throws {
        try write(.changes(changes.map { .requested($0) }))
    }

    func track(
        _ numbers: ClosedRange<SequenceNumber>, size: Int = 200, remembersIDs: Bool = false,
        route: (SequenceNumber) -> RouteNumber = { _ in 1 }
    ) throws {
        for number in numbers {
            let ids = RecentIDs(lastSequenceNumber: number, receivedStamp: 1, count: 1, bytes: [1])
            try write(
                .group(
                    Groups.of(
                        [(number, route(number))], size: size, newRoutes: [1: [1], 2: [2]],
                        recentIDs: remembersIDs ? ids : nil)))
        }
    }

    /// Appends events, every tenth for dispatcher 2, which settles none. Dispatcher 1 gets and settles the others.
    /// - Parameter deadLetter: the event of a dead letter that is stored first, or nil for none.
    func trackForTwo(_ numbers: ClosedRange<SequenceNumber>, deadLetter: SequenceNumber? = 10) throws {
        if let deadLetter { try change(.deadLetter(.sample(deadLetter))) }
        try track(numbers) { $0 % 10 == 0 ? 2 : 1 }
        try change(.settled(1, Settled(through: numbers.upperBound)))
    }

    func fill(_ count: Int) throws {
        for _ in 0..<count { try change(.keep("name", Array(repeating: 0, count: 40))) }
    }

    /// Writes changes until a new segment begins.
    func beginSegment() throws {
        let count = log.counts.begun
        while log.counts.begun == count { try fill(1) }
    }

    /// Changes the last byte of a text in the first file that contains the text.
    func corrupt(_ text: String) throws {
        for name in try names.sorted() where name.hasSuffix(".log") {
            let url = URL(fileURLWithPath: options.logDirectory + "/" + name)
            var bytes = try Data(contentsOf: url)
            guard let index = bytes.range(of: Data(text.utf8)) else { continue }
            bytes[index.upperBound - 1] ^= 1
            let file = try FileHandle(forUpdating: url)
            try file.write(contentsOf: bytes)
            return try file.close()
        }
        Issue.record("no file contains \(text)")
    }

    // MARK: Checking

    var deadLetters: [SequenceNumber] {
        get throws { try log.state.deadLetters.entries.compactMap { try log.deadLetter($0)?.sequenceNumber } }
    }

    /// Checks that the log has exactly the expected unsettled events of each dispatcher, in order, and that no file has
    /// two segments. Checks the same after reopening the log.
    func check(_ expected: [DispatcherNumber: [SequenceNumber]], _ comment: Comment) throws {
        try inspect(expected, comment)
        try reopen()
        try inspect(expected, comment)
    }

    private func inspect(_ expected: [DispatcherNumber: [SequenceNumber]], _ comment: Comment) throws {
        let files = log.segments.map(\.file.number)
        #expect(Set(files).count == files.count, comment)
        let blocks = log.segments.flatMap(\.index.blocks).map(\.span.first)
        #expect(blocks == blocks.sorted(), comment)
        for (number, events) in expected {
            let settled = try #require(log.state.dispatchers[number]).settled
            #expect(try self.events(route: RouteNumber(number)).filter { !settled.contains($0) } == events, comment)
        }
    }

    private func events(route: RouteNumber) throws -> [SequenceNumber] {
        var found: [SequenceNumber] = []
        for segment in log.segments {
            for block in segment.index.blocks {
                try segment.visitGroups(block) { group in
                    found += (group.chunk ?? Chunk(bytes: [], lastSequenceNumber: 0)).filter { $0.route == route }.map(
                        \.sequenceNumber)
                }
            }
        }
        return found
    }
}
