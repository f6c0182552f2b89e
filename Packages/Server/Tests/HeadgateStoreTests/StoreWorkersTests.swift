// swift-format-ignore-file: ReplaceForEachWithForLoop

import Foundation
import HeadgateCore
import HeadgateTransport
import Testing

@testable import HeadgateStore

/// Tests which thread carries out the jobs of a store on an event loop.
@Suite(.timeLimit(.minutes(5))) struct StoreWorkersTests {
    @Test("Q5: after some quick answers of the disk the loop's own thread commits")
    func inPlace() async throws {
        let scene = try Scene()
        let before = scene.syncs.syncedOnLoop
        scene.append(1...200)
        #expect(scene.syncs.syncedOnLoop > before)
        #expect(scene.numbers() == Array(1...200))
        await scene.end()
    }

    @Test("Q5: until the disk has answered quickly some times, the store's thread waits for it")
    func notYet() async throws {
        let scene = try Scene()
        // The loop's thread has opened the store.
        let before = scene.syncs.syncedOnLoop
        scene.append(1...8)
        #expect(scene.syncs.syncedOnLoop == before)
        await scene.end()
    }

    @Test("Q5: a large group goes to the store's thread, so that the loop reads further events meanwhile")
    func much() async throws {
        let scene = try Scene()
        scene.append(1...50)
        let before = scene.syncs.syncedOnLoop
        scene.append(51...60, size: 20_000)
        #expect(scene.syncs.syncedOnLoop == before)
        await scene.end()
    }

    @Test("Q5: a large group is committed while its turn continues")
    func withinATurn() async throws {
        let scene = try Scene()
        #expect(scene.isCommittedWithinTurn(Groups.of(1...4, size: 20_000)))
        await scene.end()
    }

    @Test("Q5: a disk that hangs again and again delays no other work of the loop, and jobs keep their order")
    func hangs() async throws {
        let scene = try Scene()
        var last: SequenceNumber = 0
        // Each time the two threads exchange their roles.
        for _ in 1...4 {
            scene.append(last + 1...last + 200)
            scene.syncs.hangs.withLock { $0 = true }
            let late = last + 201...last + 205
            let answers = Guarded<[SequenceNumber]>([])
            for number in late {
                scene.submitAppend(number...number) { answers.withLock { $0.append(number) } }
                // All other work on the loop continues.
                for _ in 1...3 { scene.onLoop { _ in } }
            }
            #expect(answers.withLock { $0 }.isEmpty)
            scene.syncs.hangs.withLock { $0 = false }
            answers.wait(until: { $0.count == 5 })
            #expect(answers.withLock { $0 } == Array(late))
            last = late.upperBound
        }
        #expect(scene.numbers() == Array(1...last))
        await scene.end()
    }

    @Test(
        "Q5: with durability normal the loop's own thread also writes large groups, because it does not wait for the disk"
    )
    func atOnce() async throws {
        let scene = try Scene(durability: .normal)
        scene.append(1...50)
        let before = scene.syncs.writtenOnLoop
        scene.append(51...54, size: 20_000)
        #expect(scene.syncs.writtenOnLoop > before)
        #expect(scene.numbers() == Array(1...54))
        await scene.end()
    }

    @Test("Q5: with durability normal, jobs that need a sync go to the store's thread, and events keep their order")
    func takesMore() async throws {
        let scene = try Scene(durability: .normal, segmentSize: 64 << 10)
        scene.append(1...50)
        let before = scene.syncs.syncedOnLoop
        // Each segment has room for some of the events, and is synced when it ends.
        scene.submitAppends(51...1_000, size: 900)
        // No dispatcher needs the events, so that segments are dropped.
        let left = scene.numbers()
        #expect(left == Array((left.first ?? 1)...1_000))
        #expect(scene.syncs.syncedOnLoop == before)
        #expect(scene.syncs.syncedElsewhere > 10)
        #expect(scene.syncs.writtenOnLoop > 10)
        await scene.end()
    }

    @Test("Q5: with durability normal, jobs that the store's thread leaves to the loop are written before later ones")
    func left() async throws {
        let scene = try Scene()
        let order = scene.orderOfLeft()
        #expect(order.isLeft)
        #expect(order.written == Array(1...(try #require(order.written.last))))
        await scene.end()
    }

    @Test("Q9: the data directory is free when the store has closed, whichever threads worked for it")
    func closes() async throws {
        let scene = try Scene()
        scene.append(1...100)
        await scene.end(removing: false)
        let again = try Scene(in: scene.directory)
        #expect(again.numbers() == Array(1...100))
        await again.end()
    }
}

/// A store on a loop with a thread of its own, and a disk whose syncs the test can block.
private final class Scene: Sendable {
    let directory: String
    let syncs: SyncWatch
    private let loop: EventLoop
    private let store: Guarded<Box>

    /// The store, which lives on the loop.
    // Unchecked: the store is used on the loop only.
    private struct Box: @unchecked Sendable {
        var store: DiskEventStore?
    }

    init(
        in directory: String = NSTemporaryDirectory() + "/headgate-workers-" + UUID().uuidString,
        durability: Durability = .full, segmentSize: Int? = nil
    ) throws {
        self.directory = directory
        loop = try EventLoop.onNewThread(named: "test")
        syncs = SyncWatch(loop)
        store = Guarded(Box())
        var options = DiskEventStore.Options(directory: directory, durability: durability)
        options.disk = FaultyDisk(onSync: syncs.synced, onWrite: syncs.written)
        if let segmentSize { options.segmentSize = segmentSize }
        // The clock stands still, so that the disk counts as quick on a busy machine, too.
        let now = ContinuousClock.now
        options.clock = { now }
        onLoop { [loop, store, options] _ in
            let opened = DiskEventStore(options: options, loop: loop)
            #expect(throws: Never.self) { try opened.open() }
            store.withLock { $0.store = opened }
        }
    }

    /// Runs `body` on the loop with the store, and waits for its end.
    func onLoop(_ body: @escaping @Sendable (DiskEventStore?) -> Void) {
        let isDone = Guarded(false)
        loop.submit { [store] in
            body(store.withLock { $0 }.store)
            isDone.withLock { $0 = true }
        }
        isDone.wait(until: { $0 })
    }

    func submitAppend(
        _ numbers: ClosedRange<SequenceNumber>, size: Int = 40, then: @escaping @Sendable () -> Void
    ) {
        onLoop { store in
            store?.append(Groups.of(numbers, size: size)) { fault in
                #expect(fault == nil)
                then()
            }
        }
    }

    /// Appends events and waits for each group. Events of at most 1 000 bytes are groups of their own.
    func append(_ numbers: ClosedRange<SequenceNumber>, size: Int = 40) {
        let groups = size > 1_000 ? [numbers] : numbers.map { $0...$0 }
        for group in groups {
            let isDone = Guarded(false)
            submitAppend(group, size: size) { isDone.withLock { $0 = true } }
            isDone.wait(until: { $0 })
        }
    }

    /// Appends events in groups of one, up to five in a turn of the loop. Waits only after the last.
    func submitAppends(_ numbers: ClosedRange<SequenceNumber>, size: Int) {
        let answers = Guarded(0)
        var first = numbers.lowerBound
        while first <= numbers.upperBound {
            let some = first...min(numbers.upperBound, first + first % 5)
            loop.submit { [store] in
                for number in some {
                    store.withLock { $0 }.store?.append(Groups.of(number...number, size: size)) { fault in
                        #expect(fault == nil)
                        answers.withLock { $0 += 1 }
                    }
                }
            }
            first = some.upperBound + 1
        }
        answers.wait(until: { $0 == numbers.count })
    }

    /// Starts separate workers with a store of their own, and waits for a commit within one turn of the loop.
    func isCommittedWithinTurn(_ group: AppendGroup) -> Bool {
        let (isCommitted, hasRung) = (Guarded(false), Guarded(false))
        var options = DiskEventStore.Options(directory: directory + "/alone")
        options.disk = FaultyDisk()
        onLoop { [loop, options] _ in
            let workers = StoreWorkers(options: options, loop: loop) { hasRung.withLock { $0 = true } }
            #expect(throws: Never.self) { _ = try workers.start() }
            let isStored = Guarded(false)
            workers.put(.append(group) { fault in isStored.withLock { $0 = fault == nil } })
            var isDone = false
            // Without a commit the workers report no news, and the wait ends after 30 seconds.
            while !isDone, hasRung.withLock(when: { $0 }, atMost: 30_000, { $0 }) {
                hasRung.withLock { $0 = false }
                for news in workers.takeNews() { news.answers.forEach { $0() } }
                isDone = isStored.withLock { $0 }
            }
            isCommitted.withLock { $0 = isDone }
            workers.put(.close())
        }
        return isCommitted.withLock { $0 }
    }

    /// Makes the store's thread leave an event to the loop, in a turn that appends another event.
    /// - Returns: true if an event was left to the loop, and the numbers of all events in the order of their writing.
    func orderOfLeft() -> (isLeft: Bool, written: [SequenceNumber]) {
        let bench = WorkersBench(loop, directory + "/left")
        onLoop { _ in bench.start() }
        // The disk counts as quick after some answers. Background work keeps the engine with the store's thread.
        for _ in 1...20 {
            onLoop { _ in bench.put() }
            bench.waitUntilCommitted()
        }
        for _ in 1...50 where !bench.isLeft {
            // The event is too large for the loop's thread. While the store's thread writes it, another is appended.
            onLoop { _ in bench.putHeld(size: 200_000) }
            bench.waitUntilHeld()
            bench.put()
            onLoop { _ in bench.putBehindLeft() }
            bench.waitUntilCommitted()
        }
        while bench.hasMoreToRead { onLoop { _ in bench.readMore() } }
        onLoop { _ in bench.close() }
        bench.waitUntilClosed()
        return (bench.isLeft, bench.written)
    }

    /// Returns the numbers of all events.
    func numbers() -> [SequenceNumber] {
        var numbers: [SequenceNumber] = []
        while true {
            let position = numbers.last ?? 0
            let answer = Guarded<[SequenceNumber]?>(nil)
            onLoop { store in
                store?.read(after: position) { result in
                    let chunk = (try? result.get()) ?? nil
                    answer.withLock { $0 = chunk?.map(\.sequenceNumber).filter { $0 > position } ?? [] }
                }
            }
            answer.wait(until: { $0 != nil })
            let found = answer.withLock { $0 } ?? []
            if found.isEmpty { return numbers }
            numbers += found
        }
    }

    func end(removing: Bool = true) async {
        let isClosed = Guarded(false)
        onLoop { store in store?.close { isClosed.withLock { $0 = true } } }
        isClosed.wait(until: { $0 })
        onLoop { [store] _ in store.withLock { $0.store = nil } }
        loop.stop()
        await loop.waitUntilClosed()
        if removing { try? FileManager.default.removeItem(atPath: directory) }
    }
}

/// Workers without a store. The test appends events and records the outcomes.
///
/// `@unchecked`: unguarded properties are used on the loop, or by the test while nothing runs on the loop.
private final class WorkersBench: @unchecked Sendable {
    private(set) var isLeft = false
    private(set) var written: [SequenceNumber] = []
    private let loop: EventLoop
    private let directory: String
    private lazy var workers = StoreWorkers(options: options, loop: loop) { [weak self] in self?.rang() }
    /// The state of the next write by the store's thread. The write blocks while this is not `.free`.
    private let hold = Guarded(Hold.free)
    /// The number of times that the workers notified the loop of news.
    private let rings = Guarded(0)
    /// The number of requested events that are not committed.
    private let open = Guarded(0)
    private let isReading = Guarded(false)
    private let isClosed = Guarded(false)
    private var last: SequenceNumber = 0
    /// The event after which the next read starts, or nil at the end.
    private var position: SequenceNumber? = 0

    private enum Hold: Sendable { case free, expected, held }

    init(_ loop: EventLoop, _ directory: String) {
        (self.loop, self.directory) = (loop, directory)
    }

    private var options: DiskEventStore.Options {
        var options = DiskEventStore.Options(directory: directory, durability: .normal)
        options.disk = FaultyDisk(onWrite: { [loop, hold] in
            guard !loop.isCurrent else { return }
            hold.withLock { if $0 == .expected { $0 = .held } }
            hold.wait(until: { $0 == .free })
        })
        let now = ContinuousClock.now
        options.clock = { now }
        return options
    }

    private func rang() {
        rings.withLock { $0 += 1 }
        loop.submit { [weak self] in self?.take() }
    }

    private func take() {
        for news in workers.takeNews() { news.answers.forEach { $0() } }
    }

    private func done(_ fault: StoreFault?) {
        #expect(fault == nil)
        open.withLock { $0 -= 1 }
    }

    private func took(_ result: Result<Chunk?, StoreFault>) {
        let chunk = (try? result.get()) ?? nil
        written += chunk?.map(\.sequenceNumber) ?? []
        position = chunk?.lastSequenceNumber
        isReading.withLock { $0 = false }
    }

    // MARK: Requests

    func start() {
        workers.onNews = { [weak self] in self?.take() }
        #expect(throws: Never.self) { _ = try workers.start() }
    }

    func put(size: Int = 40) {
        last += 1
        open.withLock { $0 += 1 }
        let group = Groups.of(last...last, size: size, newRoutes: last == 1 ? [1: [1]] : [:])
        workers.put(.append(group, then: done))
    }

    /// Appends an event whose write blocks the store's thread until ``putBehindLeft()``.
    func putHeld(size: Int) {
        hold.withLock { $0 = .expected }
        put(size: size)
    }

    /// Releases the store's thread. Appends another event when that thread has left one to the loop.
    func putBehindLeft() {
        hold.withLock { $0 = .free }
        while open.withLock({ $0 > 0 }) {
            let seen = rings.withLock { $0 }
            if workers.hasJobsForLoop {
                isLeft = true
                return put()
            }
            take()
            guard open.withLock({ $0 > 0 }), !workers.hasJobsForLoop else { continue }
            rings.wait(until: { $0 > seen })
        }
    }

    var hasMoreToRead: Bool {
        isReading.wait(until: { !$0 })
        return position != nil
    }

    func readMore() {
        guard let position else { return }
        isReading.withLock { $0 = true }
        workers.put(.ask({ $0.read(after: position) }, then: took))
    }

    func close() { workers.put(.close { [isClosed] in isClosed.withLock { $0 = true } }) }

    // MARK: Waiting

    func waitUntilHeld() { hold.wait(until: { $0 == .held }) }

    func waitUntilCommitted() { open.wait(until: { $0 == 0 }) }

    func waitUntilClosed() { isClosed.wait(until: { $0 }) }
}

/// Counts the syncs and writes of the loop's thread and of others. A test can make syncs hang.
private final class SyncWatch: Sendable {
    let hangs = Guarded(false)
    private let onLoop = Guarded(0)
    private let elsewhere = Guarded(0)
    private let writes = Guarded(0)
    private let loop: EventLoop

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    /// The number of syncs by the thread that had the loop.
    var syncedOnLoop: Int { onLoop.withLock { $0 } }

    var syncedElsewhere: Int { elsewhere.withLock { $0 } }

    /// The number of writes by the thread that had the loop.
    var writtenOnLoop: Int { writes.withLock { $0 } }

    func written() {
        if loop.isCurrent { writes.withLock { $0 += 1 } }
    }

    func synced() {
        (loop.isCurrent ? onLoop : elsewhere).withLock { $0 += 1 }
        hangs.wait(until: { !$0 })
    }
}
