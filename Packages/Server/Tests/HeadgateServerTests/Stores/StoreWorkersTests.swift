import Foundation
import HeadgateCore
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// Which thread carries out what a store on an event loop is asked for.
@Suite(.timeLimit(.minutes(5))) struct StoreWorkersTests {
    @Test("Q5: behind some quick answers the loop's own thread commits, and hands back what is left to do")
    func inPlace() async throws {
        let scene = try Scene()
        scene.append(1...200)
        #expect(scene.syncs.syncedOnLoop > 0)
        #expect(scene.numbers() == Array(1...200))
        await scene.end()
    }

    @Test("Q5: before it has answered quickly some times, a disk is waited for by the store's thread")
    func notYet() async throws {
        let scene = try Scene()
        scene.append(1...8)
        #expect(scene.syncs.syncedOnLoop == 0)
        await scene.end()
    }

    @Test("Q5: much at once is for the store's thread, so that the loop takes in the next meanwhile")
    func much() async throws {
        let scene = try Scene()
        scene.append(1...50)
        let before = scene.syncs.syncedOnLoop
        scene.append(51...60, size: 20_000)
        #expect(scene.syncs.syncedOnLoop == before)
        await scene.end()
    }

    @Test("Q5: what is much is committed while the turn goes on in which it came")
    func withinATurn() async throws {
        let scene = try Scene()
        #expect(scene.isCommittedWithinTurn(Groups.of(1...4, size: 20_000)))
        await scene.end()
    }

    @Test("Q5: a disk that hangs while the loop waits for it holds up nobody else, and jobs stay in their order")
    func hangs() async throws {
        let scene = try Scene()
        scene.append(1...200)
        scene.syncs.hangs.withLock { $0 = true }
        let answers = Guarded<[SequenceNumber]>([])
        for number in 201...205 as ClosedRange<SequenceNumber> {
            scene.submitAppend(number...number) { answers.withLock { $0.append(number) } }
            // All else on the loop goes on, however often.
            for _ in 1...3 { scene.onLoop { _ in } }
        }
        #expect(answers.withLock { $0 }.isEmpty)
        scene.syncs.hangs.withLock { $0 = false }
        answers.wait(until: { $0.count == 5 })
        #expect(answers.withLock { $0 } == [201, 202, 203, 204, 205])
        scene.append(206...300)
        #expect(scene.numbers() == Array(1...300))
        await scene.end()
    }

    @Test("Q5: with normal the loop's own thread writes, also what is much, since nobody waits for the disk")
    func atOnce() async throws {
        let scene = try Scene(durability: .normal)
        scene.append(1...50)
        let before = scene.syncs.writtenOnLoop
        scene.append(51...54, size: 20_000)
        #expect(scene.syncs.writtenOnLoop > before)
        #expect(scene.numbers() == Array(1...54))
        await scene.end()
    }

    @Test("Q5: with normal what takes more than to write it is the store's thread's, and events stay in their order")
    func takesMore() async throws {
        let scene = try Scene(durability: .normal, segmentSize: 64 << 10)
        scene.append(1...50)
        let before = scene.syncs.syncedOnLoop
        // Each segment has room for some, and its end is synced.
        scene.submitAppends(51...1_000, size: 900)
        // Nobody needs them: segments are given up.
        let left = scene.numbers()
        #expect(left == Array((left.first ?? 1)...1_000))
        #expect(scene.syncs.syncedOnLoop == before)
        #expect(scene.syncs.syncedElsewhere > 10)
        #expect(scene.syncs.writtenOnLoop > 10)
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

/// A store on a loop with a thread of its own, and a disk of which the test says when it answers.
private final class Scene: Sendable {
    let directory: String
    let syncs: SyncWatch
    private let loop: EventLoop
    private let store: Guarded<Box>

    /// The store, which lives on the loop.
    // Unchecked: looked into on the loop only.
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
        // However busy the machine is, this disk counts as quick.
        let now = ContinuousClock.now
        options.clock = { now }
        onLoop { [loop, store, options] _ in
            let opened = DiskEventStore(options: options, loop: loop)
            #expect(throws: Never.self) { try opened.open() }
            store.withLock { $0.store = opened }
        }
    }

    /// Runs something on the loop, and waits for it.
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

    /// Appends events, each alone where they are small, and waits for each.
    func append(_ numbers: ClosedRange<SequenceNumber>, size: Int = 40) {
        let groups = size > 1_000 ? [numbers] : numbers.map { $0...$0 }
        for group in groups {
            let isDone = Guarded(false)
            submitAppend(group, size: size) { isDone.withLock { $0 = true } }
            isDone.wait(until: { $0 })
        }
    }

    /// Appends events, each alone and some of them in one turn, without waiting for one before the next; then for all.
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

    /// Asks workers of their own for a commit, and waits for it in the same turn of the loop.
    func isCommittedWithinTurn(_ group: AppendGroup) -> Bool {
        let (isCommitted, hasRung) = (Guarded(false), Guarded(false))
        var options = DiskEventStore.Options(directory: directory + "/alone")
        options.disk = FaultyDisk()
        onLoop { [loop, options] _ in
            let workers = StoreWorkers(options: options, loop: loop) { hasRung.withLock { $0 = true } }
            #expect(throws: Never.self) { _ = try workers.start() }
            workers.put(.append(group))
            var isDone = false
            // Without a commit nothing rings, and the wait is over after its time.
            while !isDone, hasRung.withLock(when: { $0 }, atMost: 30_000, { $0 }) {
                hasRung.withLock { $0 = false }
                isDone = workers.takeOutcomes().contains { if case .done(nil) = $0 { true } else { false } }
            }
            isCommitted.withLock { $0 = isDone }
            workers.put(.close)
        }
        return isCommitted.withLock { $0 }
    }

    /// The numbers of all events.
    func numbers() -> [SequenceNumber] {
        var numbers: [SequenceNumber] = []
        while true {
            let place = numbers.last ?? 0
            let answer = Guarded<[SequenceNumber]?>(nil)
            onLoop { store in
                store?.read(after: place) { result in
                    let chunk = (try? result.get()) ?? nil
                    answer.withLock { $0 = chunk?.map(\.sequenceNumber).filter { $0 > place } ?? [] }
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

/// Tells of syncs and writes whether the loop's thread did them, and has syncs hang when a test says so.
private final class SyncWatch: Sendable {
    let hangs = Guarded(false)
    private let onLoop = Guarded(0)
    private let elsewhere = Guarded(0)
    private let writes = Guarded(0)
    private let loop: EventLoop

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    /// How often something was synced by the thread that had the loop.
    var syncedOnLoop: Int { onLoop.withLock { $0 } }

    var syncedElsewhere: Int { elsewhere.withLock { $0 } }

    /// How often the thread that had the loop wrote something.
    var writtenOnLoop: Int { writes.withLock { $0 } }

    func written() {
        if loop.isCurrent { writes.withLock { $0 += 1 } }
    }

    func synced() {
        (loop.isCurrent ? onLoop : elsewhere).withLock { $0 += 1 }
        hangs.wait(until: { !$0 })
    }
}
