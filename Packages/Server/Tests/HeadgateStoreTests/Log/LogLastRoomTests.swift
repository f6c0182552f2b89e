import Foundation
import HeadgateCore
import Testing

@testable import HeadgateStore

/// Tests which changes get the last room of a full disk (decisions 51, 52 and 55).
@Suite("The last room of a full disk")
final class LogLastRoomTests {
    private let disk = FaultyDisk()
    private var options = StoreOptions(directory: NSTemporaryDirectory() + "/headgate-last-" + UUID().uuidString)
    private var engine: LogEngine!
    private var last: SequenceNumber = 0

    private static let segment = 64 << 10
    private static let reserve = segment / 8

    init() throws {
        (options.segmentSize, options.leastSegmentSize, options.blockSize) = (Self.segment, Self.segment, 4 << 10)
        (options.leastPacked, options.disk) = (.max, disk)
        disk.room = 9 * Self.segment + 100
        engine = try options.open().engine
        #expect(write(.dispatcher(.at(0)), .dispatcher(.at(0, number: 2, id: "other"))))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: options.directory)
    }

    /// - Returns: true if the commit succeeded, false if there was no room.
    private func write(_ changes: StoreChange...) -> Bool { commit(.write(changes)) }

    /// - Returns: true if the commit succeeded, false if there was no room.
    private func commit(_ job: StoreJob) -> Bool {
        engine.resumeBackgroundWork()
        return if case .success = engine.commit([job]) { true } else { false }
    }

    private func doAllBackgroundWork() {
        for _ in 0..<200 where engine.hasBackgroundWork { engine.doBackgroundWork() }
    }

    private func append(size: Int = 900, route: RouteNumber = 1) -> Bool {
        let routes: [RouteNumber: [DispatcherNumber]] = last == 0 ? [1: [1], 2: [2]] : [:]
        guard commit(.append(Groups.of(last + 1...last + 1, route: route, size: size, newRoutes: routes))) else {
            return false
        }
        last += 1
        engine.lastAppended = last
        return true
    }

    /// Appends events until the log is out of room.
    private func fill() {
        while append() { doAllBackgroundWork() }
        #expect(engine.log.isOutOfRoom)
    }

    private func settleAll() -> Bool {
        write(.settled(1, Settled(through: last)), .settled(2, Settled(through: last)), .trim(through: last))
    }

    @Test(
        "Q8: on a full disk dead letters are deleted one by one, while room remains for settlements")
    func deadLettersOneByOne() throws {
        for number in 1...300 as ClosedRange<SequenceNumber> {
            #expect(write(.deadLetter(.sample(number))))
        }
        fill()
        let page = try engine.readDeadLetters(DeadLetterQuery(limit: .max)).get()
        #expect(page.deadLetters.count == 300)
        var deleted = 0
        for deadLetter in page.deadLetters {
            guard case .success = engine.purgeDeadLetters(DeadLetterQuery(numbers: [deadLetter.number], limit: 1))
            else {
                break
            }
            deleted += 1
        }
        #expect((50..<200).contains(deleted), "\(deleted)")
        #expect(settleAll())
        doAllBackgroundWork()
        for _ in 0..<20 { #expect(append()) }
    }

    @Test("Q8, D10: on a full disk dead letters are deleted, also if there is no room for other changes")
    func deadLettersLast() throws {
        for number in 1...12 as ClosedRange<SequenceNumber> {
            #expect(write(.deadLetter(.sample(number))))
        }
        fill()
        while write(.keep("a", [])) {}
        let page = try engine.readDeadLetters(DeadLetterQuery(limit: .max)).get()
        let deleted = page.deadLetters.map { engine.purgeDeadLetters(DeadLetterQuery(numbers: [$0.number], limit: 1)) }
        #expect(deleted.map { try? $0.get() } == Array(repeating: 1, count: 12))
        #expect(settleAll())
        doAllBackgroundWork()
        #expect(append())
    }

    @Test("Q8: the release of a segment that is too small to be reused leaves room for a change that frees more")
    func smallSegments() throws {
        // The other dispatcher's few events are copied to a small segment.
        for number in 1...260 { #expect(append(route: number == 30 || number == 90 ? 2 : 1)) }
        for _ in 0..<100 { #expect(write(.settled(1, Settled(through: last)))) }
        doAllBackgroundWork()
        let copy = try #require(engine.log.state.segments.first)
        #expect(copy.file.size < Self.segment)
        fill()
        while write(.keep("a", [UInt8](repeating: 0, count: 100))) {}
        // The dead letter in the same commit would leave no room for any other change.
        let deadLetter = DeadLetter.sample(90, dispatcher: 2, record: [UInt8](repeating: 0, count: Self.reserve / 4))
        let isWritten = write(.settled(2, Settled(through: last)), .deadLetter(deadLetter))
        #expect(!isWritten)
        #expect(settleAll())
        doAllBackgroundWork()
        for _ in 0..<20 { #expect(append()) }
    }

    @Test("Q8: no event is refused while released segments take the room")
    func atOnce() {
        fill()
        #expect(settleAll())
        #expect(append())
    }

    @Test("Q8: the room of a file that could not be removed is freed before another file is created")
    func unremoved() {
        disk.failsToRemove = true
        disk.failsToSync = true
        #expect(throws: DiskFault.self) { try engine.log.files.make(Self.segment) }
        (disk.failsToRemove, disk.failsToSync, disk.room) = (false, false, disk.taken)
        #expect(throws: Never.self) { try engine.log.files.make(Self.segment) }
        #expect(throws: DiskFault.self) { try engine.log.files.make(Self.segment) }
    }
}
