import Foundation
import HeadgateCore
import Testing

@testable import HeadgateServer

@Suite("The room that a log takes")
struct LogRoomTests {
    let scene = StoreScene(.log, durability: .normal)

    /// With segments of 64 KiB, 64 MiB are as eight of them.
    private static let segment = 64 << 10

    @Test("Q10: behind a held dispatcher with a narrow route the disk holds twice of what is live, and little more")
    func narrowRoute() throws {
        (scene.options.segmentSize, scene.options.blockSize) = (Self.segment, 4 << 10)
        try scene.open()
        scene.write(.dispatcher(.at(0)), .dispatcher(.at(0, number: 2, id: "archive")))
        var live = 0
        for first in stride(from: SequenceNumber(1), to: 8_000, by: 10) {
            // One event in forty is for the dispatcher that is held, and the other has settled all.
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

    @Test("Q10: what is settled by all takes no room, and the files that held it are used again")
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

    @Test("Q10: segments are looked at when something was settled, and not for events alone")
    func looksWhenSettled() throws {
        let engine = try scene.options.open().engine
        _ = engine.commit([.append(Groups.of(1...1, newRoutes: [1: [1]]))])
        for _ in 0..<1_000 where engine.hasChores { engine.doSomeChores() }
        for number in 2...300 as ClosedRange<SequenceNumber> {
            _ = engine.commit([.append(Groups.of(number...number))])
        }
        #expect(!engine.hasChores)
        for number in 1...64 as ClosedRange<SequenceNumber> {
            _ = engine.commit([.write([.settled(1, Settled(through: number))])])
        }
        #expect(engine.hasChores)
    }

    @Test(
        "Q8: on a disk that is full what is settled finds room, in as many words as it takes, and with room again events do",
        arguments: [(1, 1 << 12), (25, .max)] as [(Int, Int)])
    func full(batch: Int, leastPacked: Int) throws {
        guard SmallDisk.isPossible else { return }
        let disk = try SmallDisk()
        let scene = StoreScene(.log, in: disk.path)
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
        // What cannot be written is said again with what is settled next. It may not have to be, but at the end it must be written.
        for number in 1...last { scene.write(.settled(1, Settled(through: number))) }
        for _ in 0..<5 { scene.write() }
        #expect(scene.write(.settled(1, Settled(through: last))) == nil)
        for number in last + 1...last + 100 { #expect(scene.append(Groups.of(number...number, size: 4_000)) == nil) }
        #expect(try scene.reopen().lastSequenceNumber == last + 100)
        #expect(try scene.numbers(after: last) == Array(last + 1...last + 100))
    }

    @Test("Q8: the last room of a full disk is not given to events: what is settled has to be written there")
    func lastRoom() throws {
        guard SmallDisk.isPossible else { return }
        let disk = try SmallDisk()
        let scene = StoreScene(.log, in: disk.path)
        (scene.options.segmentSize, scene.options.leastPacked) = (512 << 10, .max)
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        var last: SequenceNumber = 0
        while scene.append(Groups.of(last + 1...last + 1, size: 4_000, newRoutes: last == 0 ? [1: [1]] : [:])) == nil {
            last += 1
        }
        // Another program takes what is left.
        try? Data(repeating: 0, count: 2 << 20).write(to: URL(fileURLWithPath: disk.path + "/other"))
        var refused = 0
        for number in 1...last where scene.write(.settled(1, Settled(through: number))) != nil { refused += 1 }
        #expect(refused == 0)
    }
}
