import HeadgateCore
import HeadgateCoreTesting
import Testing

@testable import HeadgateStore

/// Tests retained events, and rewinds, in a log of small segments.
@Suite struct LogRetentionTests {
    let scene = StoreScene()

    /// The number of events that were appended.
    private static let count: SequenceNumber = 90

    /// Opens a log in segments of 8 KiB with groups of three events, which dispatcher 1 has settled. A group's time of
    /// receipt is the number of its first event.
    private func fill(_ retention: Retention?) throws {
        (scene.options.segmentSize, scene.options.blockSize) = (8 << 10, 1 << 10)
        scene.options.leastPacked = .max
        try scene.open()
        scene.write(.retain(retention), .dispatcher(.at(0)))
        try append(1...LogRetentionTests.count)
    }

    private func append(_ numbers: ClosedRange<SequenceNumber>) throws {
        for first in stride(from: numbers.lowerBound, through: numbers.upperBound, by: 3) {
            let routes: [RouteNumber: [DispatcherNumber]] = first == 1 ? [1: [1]] : [:]
            scene.append(Groups.of(first...first + 2, size: 200, received: first, newRoutes: routes))
            scene.write(.settled(1, Settled(through: first + 2)), .trim(through: first + 2))
        }
    }

    private func rewind(to start: RewindRequest.Start) throws -> RewindOutcome {
        try scene.answer { scene.store.rewind(RewindRequest(1, to: start), then: $0) }.get()
    }

    private func oldest(_ outcome: RewindOutcome) -> SequenceNumber? {
        if case .notRetained(let oldest) = outcome { oldest?.sequenceNumber } else { nil }
    }

    @Test("R1: without limits settled events stay, also after background work and restarts")
    func everything() throws {
        try fill(Retention())
        _ = try scene.reopenWhenIdle()
        #expect(try scene.numbers() == Array(1...LogRetentionTests.count))
        scene.write()
        #expect(scene.store.retained.tally.events == Int(LogRetentionTests.count))
        #expect(scene.store.retained.oldestStamp == 1)
        let state = try scene.reopen()
        #expect(state.unsettled[1]?.total.events ?? 0 == 0)
    }

    @Test("R1: the number of retained events is reported with the settlement after which they are retained")
    func reported() throws {
        try scene.open()
        scene.write(.retain(Retention()), .dispatcher(.at(0)))
        scene.append(Groups.of(1...3, size: 200, received: 1, newRoutes: [1: [1]]))
        scene.write(.settled(1, Settled(through: 3)), .trim(through: 3))
        scene.write()
        #expect(scene.store.retained.tally.events == 3)
    }

    @Test("R1: beyond the limit of bytes the oldest events are removed, and a rewind to them is refused")
    func bytes() throws {
        try fill(Retention(maxBytes: 10_000))
        _ = try scene.reopenWhenIdle()
        for _ in 1...4 { scene.write() }
        #expect(scene.store.retained.tally.bytes <= 10_000 && scene.store.retained.tally.events > 10)
        let oldest = try #require(oldest(try rewind(to: .sequenceNumber(1))))
        #expect(oldest > 1 && oldest < LogRetentionTests.count)
        guard case .rewound(let queue) = try rewind(to: .sequenceNumber(oldest)) else {
            Issue.record("refused")
            return
        }
        #expect(queue.isComplete && queue.unsettled.total.events == Int(LogRetentionTests.count - oldest) + 1)
        #expect(try scene.numbers(after: oldest - 1) == Array(oldest...LogRetentionTests.count))
    }

    @Test("R1: events that are older than the limit are removed")
    func age() throws {
        try fill(Retention())
        scene.write(.retain(Retention(receivedAfter: 50)))
        _ = try scene.reopenWhenIdle()
        let oldest = try #require(oldest(try rewind(to: .receipt(1))))
        #expect((30...52).contains(oldest))
        #expect(try scene.numbers(after: 50) == Array(51...LogRetentionTests.count))
    }

    @Test("R1, Q10: the room of events that are no longer retained is freed")
    func room() throws {
        try fill(Retention())
        scene.write()
        let before = scene.store.diskBytes
        scene.write(.retain(nil))
        _ = try scene.reopenWhenIdle()
        scene.write()
        #expect(scene.store.diskBytes < before)
        #expect(try rewind(to: .sequenceNumber(1)) == .notRetained(nil))
    }

    @Test("R1: retention that is switched on later keeps the events that settle from then on")
    func switchedOn() throws {
        try fill(nil)
        scene.write(.retain(Retention()))
        let next = LogRetentionTests.count + 1
        try append(next...next + 29)
        _ = try scene.reopenWhenIdle()
        #expect(oldest(try rewind(to: .sequenceNumber(1))) == next)
        guard case .rewound(let queue) = try rewind(to: .sequenceNumber(next)) else {
            Issue.record("refused")
            return
        }
        #expect(queue.isComplete && queue.unsettled.total.events == 30)
    }

    @Test("R2, R3: a rewind survives a restart, and its pending events are kept beyond the limits")
    func rewound() throws {
        try fill(Retention())
        _ = try rewind(to: .sequenceNumber(11))
        scene.write(.retain(nil))
        let state = try scene.reopenWhenIdle()
        #expect(state.dispatchers.map(\.position) == [10])
        #expect(state.unsettled[1]?.total.events == 80)
        #expect(try scene.numbers(after: 10) == Array(11...LogRetentionTests.count))
    }

    @Test("R2: a rewind counts the events that were requested before it, and later events follow")
    func moment() throws {
        try fill(Retention())
        var events: [Int] = []
        let next = LogRetentionTests.count + 1
        scene.store.append(Groups.of(next...next, size: 200)) { _ in }
        scene.store.rewind(RewindRequest(1, to: .sequenceNumber(1))) { result in
            guard case .success(.rewound(let queue)) = result else { return }
            events.append(queue.unsettled.total.events)
        }
        scene.append(Groups.of(next + 1...next + 1, size: 200))
        #expect(events == [Int(next)])
        #expect(try scene.reopen().unsettled[1]?.total.events == Int(next) + 1)
    }

    @Test(
        "R1, Q8: on a full disk, retained events are removed before new events are refused",
        .enabled(if: SmallDisk.isPossible))
    func fullDisk() throws {
        let disk = try SmallDisk()
        let scene = StoreScene(in: disk.path)
        (scene.options.segmentSize, scene.options.blockSize) = (128 << 10, 16 << 10)
        (scene.options.leastSegmentSize, scene.options.leastPacked) = (32 << 10, .max)
        try scene.open()
        scene.write(.retain(Retention()), .dispatcher(.at(0)))
        var refused = 0
        // Three times as many events as the disk has room for.
        for first in stride(from: SequenceNumber(1), to: 600, by: 10) {
            let routes: [RouteNumber: [DispatcherNumber]] = first == 1 ? [1: [1]] : [:]
            let group = Groups.of(first...first + 9, size: 10_000, received: first, newRoutes: routes)
            if scene.append(group) != nil { refused += 1 }
            scene.write(.settled(1, Settled(through: first + 9)), .trim(through: first + 9))
        }
        #expect(refused == 0)
        #expect(scene.store.retained.tally.events > 0)
        scene.close()
    }
}
