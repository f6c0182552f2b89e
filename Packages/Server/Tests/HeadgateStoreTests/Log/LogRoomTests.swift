import Foundation
import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("The room that a log takes")
struct LogRoomTests {
    let scene = StoreScene(durability: .normal)

    /// The size of a segment in bytes.
    private static let segment = 64 << 10

    @Test("Q10: for a blocked dispatcher with few events, the log takes at most about twice the bytes of these events")
    func narrowRoute() throws {
        (scene.options.segmentSize, scene.options.blockSize) = (Self.segment, 4 << 10)
        try scene.open()
        scene.write(.dispatcher(.at(0)), .dispatcher(.at(0, number: 2, id: "archive")))
        var live = 0
        for first in stride(from: SequenceNumber(1), to: 8_000, by: 10) {
            // One event in forty is for the blocked dispatcher. The other dispatcher settles all events.
            let events = (first..<first + 10).map { (number: $0, route: RouteNumber($0 % 40 == 0 ? 1 : 2)) }
            let group = Groups.of(events, size: 400, newRoutes: first == 1 ? [1: [1, 2], 2: [2]] : [:])
            live += group.tallies[1]?.bytes ?? 0
            #expect(scene.append(group) == nil)
            scene.write(.settled(2, Settled(through: first + 9)))
        }
        for _ in 0..<40 { scene.write() }
        #expect(scene.store.diskBytes <= 2 * live + 8 * Self.segment, "\(scene.store.diskBytes) for \(live)")
        #expect(try scene.numbers().filter { $0 % 40 == 0 } == Array(stride(from: 40, through: 8_000, by: 40)))
        #expect(try scene.reopen().unsettled[1]?[1]?.events == 200)
    }

    @Test("Q10: fully settled events take no room, and their files are used again")
    func settled() throws {
        (scene.options.segmentSize, scene.options.blockSize) = (Self.segment, 4 << 10)
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        for number in 1...2_000 as ClosedRange<SequenceNumber> {
            scene.append(Groups.of(number...number, size: 1_000, newRoutes: number == 1 ? [1: [1]] : [:]))
            scene.write(.settled(1, Settled(through: number)))
        }
        for _ in 0..<10 { scene.write() }
        #expect(scene.store.diskBytes <= 5 * Self.segment, "\(scene.store.diskBytes)")
    }

    @Test("Q10: segments are evaluated after settlements, not after appends alone")
    func checksWhenSettled() throws {
        let engine = try scene.options.open().engine
        _ = engine.commit([.append(Groups.of(1...1, newRoutes: [1: [1]]))])
        for _ in 0..<1_000 where engine.hasBackgroundWork { engine.doBackgroundWork() }
        for number in 2...300 as ClosedRange<SequenceNumber> {
            _ = engine.commit([.append(Groups.of(number...number))])
        }
        #expect(!engine.hasBackgroundWork)
        for number in 1...64 as ClosedRange<SequenceNumber> {
            _ = engine.commit([.write([.settled(1, Settled(through: number))])])
        }
        #expect(engine.hasBackgroundWork)
    }

    @Test(
        "Q8: a full disk has room for settlements, however many writes they take, and then for events",
        arguments: [(1, 1 << 12), (25, .max)] as [(Int, Int)])
    func full(batch: Int, leastPacked: Int) throws {
        guard SmallDisk.isPossible else { return }
        let disk = try SmallDisk()
        let scene = StoreScene(in: disk.path)
        (scene.options.segmentSize, scene.options.blockSize) = (256 << 10, 4 << 10)
        scene.options.leastPacked = leastPacked
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        var (last, fault): (SequenceNumber, StoreFault?) = (0, nil)
        while fault == nil, last < 100_000 {
            let next = last + SequenceNumber(batch)
            fault = scene.append(Groups.of(last + 1...next, size: 4_000 / batch, newRoutes: last == 0 ? [1: [1]] : [:]))
            if fault == nil { last = next }
        }
        guard case .noRoom = fault else { return #expect(Bool(false), "\(String(describing: fault))") }
        #expect(last > 200)
        #expect(try scene.numbers() == Array(1...last))
        // A settlement that cannot be written is repeated with the next one. Some may fail, but not the last.
        for number in 1...last { scene.write(.settled(1, Settled(through: number))) }
        for _ in 0..<5 { scene.write() }
        #expect(scene.write(.settled(1, Settled(through: last))) == nil)
        for number in last + 1...last + 100 { #expect(scene.append(Groups.of(number...number, size: 4_000)) == nil) }
        #expect(try scene.reopen().lastSequenceNumber == last + 100)
        #expect(try scene.numbers(after: last) == Array(last + 1...last + 100))
    }

    @Test("Q8: the last room of a full disk is not given to events: settlements need it")
    func lastRoom() throws {
        guard SmallDisk.isPossible else { return }
        let disk = try SmallDisk()
        let scene = StoreScene(in: disk.path)
        (scene.options.segmentSize, scene.options.leastPacked) = (512 << 10, .max)
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        var last: SequenceNumber = 0
        while scene.append(Groups.of(last + 1...last + 1, size: 4_000, newRoutes: last == 0 ? [1: [1]] : [:])) == nil {
            last += 1
        }
        // Another program takes the free space.
        try? Data(repeating: 0, count: 2 << 20).write(to: URL(fileURLWithPath: disk.path + "/other"))
        var refused = 0
        for number in 1...last where scene.write(.settled(1, Settled(through: number))) != nil { refused += 1 }
        #expect(refused == 0)
    }

    // MARK: A start without room

    /// Fills a disk with a log, whose daemon is killed when there is no room.
    private func killedWhenFull() throws -> (disk: FaultyDisk, last: SequenceNumber, segment: UInt64) {
        let disk = FaultyDisk()
        (scene.options.disk, scene.options.segmentSize, scene.options.durability) = (disk, Self.segment, .full)
        disk.room = 3 * Self.segment + 100
        let engine = try scene.options.open().engine
        _ = engine.commit([.write([.dispatcher(.at(0))])])
        var last: SequenceNumber = 0
        while case .success = engine.commit([
            .append(
                Groups.of(last + 1...last + 1, size: 1_000, newRoutes: last == 0 ? [1: [1]] : [:]))
        ]) {
            last += 1
            for _ in 0..<200 where engine.hasBackgroundWork { engine.doBackgroundWork() }
        }
        #expect(last > 100)
        return (disk, last, engine.log.active.segment.number)
    }

    @Test(
        "Q8: a daemon that was killed on a full disk starts again, continues in its segment, and later in the next"
    )
    func startsWhenFull() throws {
        let (disk, last, segment) = try killedWhenFull()
        for _ in 0..<2 {
            let opened = try scene.options.open()
            #expect(opened.engine.log.active.segment.number == segment)
            #expect(opened.state.lastSequenceNumber == last)
            #expect(opened.state.unsettled[1]?[1]?.events == Int(last))
        }
        disk.room = .max
        try scene.open()
        #expect(try scene.numbers() == Array(1...last))
        for number in last + 1...last + 100 { #expect(scene.append(Groups.of(number...number, size: 1_000)) == nil) }
        #expect(try scene.reopen().lastSequenceNumber == last + 100)
        #expect(try scene.numbers() == Array(1...last + 100))
    }

    @Test("Q8: on a full disk a start fails and changes nothing if the newest segment needs the one before it (case J)")
    func refusesWhenFull() throws {
        let (disk, last, segment) = try killedWhenFull()
        let newest = try #require(try files().first { $0.number == segment })
        var damaged = newest.bytes
        damaged[LogHeader.size + LogFrame.headerSize + 3] ^= 0x40
        try damaged.write(to: URL(fileURLWithPath: newest.path))
        let before = try files().map(\.bytes)
        for _ in 0..<2 {
            let fault = #expect(throws: StoreFault.self) { _ = try scene.options.open() }
            guard case .noRoom = fault else { return #expect(Bool(false), "\(String(describing: fault))") }
            #expect(try files().map(\.bytes) == before)
        }
        disk.room = .max
        try scene.open()
        #expect(try scene.numbers() == Array(1...last))
    }

    /// Returns the segments' files, sorted by name.
    private func files() throws -> [(number: UInt64, path: String, bytes: Data)] {
        let folder = scene.directory + "/log/"
        return try FileManager.default.contentsOfDirectory(atPath: folder).sorted().compactMap { name in
            guard name.hasSuffix(".log"), let bytes = FileManager.default.contents(atPath: folder + name),
                case .header(let header) = Array(bytes.prefix(LogHeader.size)).withUnsafeBytes(LogHeader.read)
            else { return nil }
            return (header.number, folder + name, bytes)
        }
    }

    @Test("Q8: if a start continues in a segment, old bytes behind its end are never read as new frames")
    func nothingBehind() throws {
        let (_, last, _) = try killedWhenFull()
        let (file, end, path) = try {
            let log = try scene.options.open().engine.log
            return (log.active.segment.file, log.active.end, log.files.path(log.active.segment.file.number))
        }()
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try handle.seek(toOffset: UInt64(end + 100))
        try handle.write(contentsOf: Data(repeating: 7, count: file.size - end - 100))
        try handle.close()
        let again = try scene.options.open().engine
        #expect(again.log.active.end == end && again.lastAppended == last)
        let rest = try #require(FileManager.default.contents(atPath: path)).dropFirst(end)
        #expect(rest.allSatisfy { $0 == 0 })
    }

    @Test("Q8: without room for a segment, numbers of damaged events are not given again after two starts")
    func numbersAfterDamage() throws {
        let (_, last, segment) = try killedWhenFull()
        try scene.options.open().engine.finish()
        // The closing frame confirms the last group, so that its damage is no interrupted write.
        let newest = try #require(try files().first { $0.number == segment })
        let group = try #require(frames(newest.bytes, segment).last { $0.frame.kind == .group })
        var damaged = newest.bytes
        damaged[group.offset + LogFrame.headerSize + 60] ^= 0x40
        try damaged.write(to: URL(fileURLWithPath: newest.path))
        for _ in 1...2 {
            let opened = try scene.options.open()
            #expect(opened.engine.log.active.segment.number == segment)
            #expect(opened.state.lastSequenceNumber >= last)
        }
    }

    @Test(
        "Q5, Q8: without room for a segment, events behind a damaged one are not lost by two starts",
        arguments: [false, true])
    func provenAfterDamage(isSealed: Bool) throws {
        let disk = FaultyDisk()
        (scene.options.disk, scene.options.segmentSize, disk.room) = (disk, Self.segment, 2 * Self.segment)
        for number in 1...3 as ClosedRange<SequenceNumber> {
            let engine = try scene.options.open().engine
            defer { engine.finish() }
            guard number == 1 else { continue }
            _ = engine.commit([.write([.dispatcher(.at(0))])])
            for event in 1...3 as ClosedRange<SequenceNumber> {
                _ = engine.commit([.append(Groups.of(event...event, newRoutes: event == 1 ? [1: [1]] : [:]))])
            }
            if isSealed { _ = try engine.log.seal() }
        }
        // With `normal` only the closing frame confirms the groups.
        let only = try #require(try files().last)
        let group = try #require(frames(only.bytes, only.number).filter { $0.frame.kind == .group }.dropFirst().first)
        var damaged = only.bytes
        damaged[group.offset + LogFrame.headerSize + 60] ^= 0x40
        try damaged.write(to: URL(fileURLWithPath: only.path))
        disk.room = disk.taken
        for _ in 1...2 {
            let opened = try scene.options.open()
            #expect(opened.engine.log.active.segment.number == only.number)
            #expect(opened.state.lastSequenceNumber >= 3)
            #expect(opened.engine.log.active.segment.index.total.events == 2)
        }
    }

    private func frames(_ bytes: Data, _ segment: UInt64) -> [(frame: LogFrame, offset: Int)] {
        Array(bytes).withUnsafeBytes { bytes in
            guard case .header(let header) = LogHeader.read(bytes) else { return [] }
            let start = LogPosition(segment: segment, offset: LogHeader.size)
            var scan = LogScan(
                UnsafeRawBufferPointer(rebasing: bytes[LogHeader.size...]), from: start, behind: header.checksum)
            var frames: [(frame: LogFrame, offset: Int)] = []
            while let found = scan.next() {
                if case .frame(let frame, let offset) = found { frames.append((frame, offset)) }
            }
            return frames
        }
    }

    @Test("Q8: a start without room takes the room of an unused file")
    func removesBlank() throws {
        let (disk, last, segment) = try killedWhenFull()
        let path = scene.options.logDirectory + "/000099.log"
        try Data(repeating: 0, count: Self.segment).write(to: URL(fileURLWithPath: path))
        disk.room += Self.segment
        let engine = try scene.options.open().engine
        #expect(engine.log.active.segment.number > segment && engine.log.active.segment.file.number == 100)
        #expect(engine.lastAppended == last && !FileManager.default.fileExists(atPath: path))
    }

    @Test(
        "Q8, P1: on a full disk a start does not continue in a segment that a running daemon began and could not sync")
    func unfinishedSegment() throws {
        let disk = FaultyDisk()
        (scene.options.disk, scene.options.segmentSize, scene.options.leastSegmentSize) = (
            disk, Self.segment, Self.segment
        )
        (scene.options.durability, disk.room) = (.full, 2 * Self.segment + 100)
        var engine: LogEngine? = try scene.options.open().engine
        func append(_ number: SequenceNumber, newRoutes: [RouteNumber: [DispatcherNumber]] = [:]) -> Bool {
            let result = engine?.commit([.append(Groups.of(number...number, newRoutes: newRoutes))])
            return if case .success? = result { true } else { false }
        }
        _ = engine?.commit([.write([.dispatcher(.at(0))])])
        #expect(append(1, newRoutes: [1: [1]]))
        disk.syncsUntilFault = 0
        #expect(!append(2))
        // The log begins its next segment, and the last of the three syncs fails.
        disk.syncsUntilFault = 2
        #expect(!append(2))
        // Without room for a third file, the log continues in the first segment.
        disk.failsToRemove = true
        #expect(append(2))
        #expect(engine?.log.active.segment.number == 1)
        engine = nil
        try scene.open()
        #expect(try scene.numbers() == [1, 2])
    }

    @Test("Q8: files of starts that were interrupted before there was a log are removed")
    func interruptedCreation() throws {
        (scene.options.segmentSize, scene.options.disk) = (Self.segment, FaultyDisk())
        try FileManager.default.createDirectory(atPath: scene.options.logDirectory, withIntermediateDirectories: true)
        for number in 1...5 {
            let path = scene.options.logDirectory + "/00000\(number).log"
            try Data(repeating: 0, count: Self.segment).write(to: URL(fileURLWithPath: path))
        }
        _ = try scene.options.open()
        // One file is the active segment, and two are prepared for the next segments.
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.options.logDirectory).count <= 3)
    }
}
