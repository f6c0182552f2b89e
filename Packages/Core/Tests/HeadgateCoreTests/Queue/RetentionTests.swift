import Testing

@testable import HeadgateCore

/// Tests of the settled events that a store retains, and of the positions to which a dispatcher can be rewound.
@Suite struct RetentionTests {
    private func span(_ last: SequenceNumber, received: Int64 = 1_000, bytes: Int = 100, isFreed: Bool = true)
        -> RetentionCut.Span
    {
        RetentionCut.Span(last: last, lastReceipt: received, settledBytes: bytes, isFreed: isFreed)
    }

    @Test("R1: the oldest events beyond the limit of bytes are removed")
    func bytes() {
        var cut = RetentionCut(Retention(maxBytes: 250))
        for last in [40, 30, 20, 10] as [SequenceNumber] { cut.add(span(last)) }
        #expect(cut.through == 20)
    }

    @Test("R1: events that are older than the limit are removed")
    func age() {
        var cut = RetentionCut(Retention(receivedAfter: 500))
        for (last, received) in [(30, 700), (20, 501), (10, 500)] as [(SequenceNumber, Int64)] {
            cut.add(span(last, received: received))
        }
        #expect(cut.through == 10)
    }

    @Test("R1: pending events do not count towards the limit of bytes")
    func pending() {
        var cut = RetentionCut(Retention(maxBytes: 100))
        cut.add(span(30, bytes: 0))
        cut.add(span(20, bytes: 100))
        #expect(cut.through == nil)
    }

    @Test("R1: on a full disk the older half of the spans that free space is removed")
    func fullDisk() {
        var cut = RetentionCut(Retention())
        cut.add(span(50, isFreed: false))
        for last in [40, 30, 20, 10] as [SequenceNumber] { cut.add(span(last)) }
        #expect(cut.through == nil && cut.throughOnFullDisk == 20)
        var none = RetentionCut(Retention())
        none.add(span(50, isFreed: false))
        #expect(none.throughOnFullDisk == nil)
    }

    @Test("R3: a rewind before the oldest retained event is refused, and one after it is not")
    func range() {
        let kept = RewindRange(unretainedThrough: 100, oldest: KeptEvent(101, receivedStamp: 5_000))
        #expect(!kept.allows(.sequenceNumber(100)) && kept.allows(.sequenceNumber(101)))
        #expect(!kept.allows(.receipt(4_999)) && kept.allows(.receipt(5_000)))
        #expect(kept.isComplete(from: 101) && !kept.isComplete(from: 100))
    }

    @Test("R3: until the first removal, every position can be rewound to")
    func whole() {
        let whole = RewindRange(unretainedThrough: 0, oldest: nil)
        #expect(whole.allows(.sequenceNumber(1)) && whole.allows(.receipt(.min)) && whole.isComplete(from: 1))
    }

    @Test("R5: without retention a rewind covers only events that another dispatcher needs, and is incomplete")
    func nothingRetained() {
        let others = RewindRange(unretainedThrough: nil, oldest: KeptEvent(7, receivedStamp: 5_000))
        #expect(others.allows(.sequenceNumber(7)) && !others.allows(.sequenceNumber(6)))
        #expect(!others.isComplete(from: 7))
        #expect(!RewindRange(unretainedThrough: nil, oldest: nil).allows(.sequenceNumber(1)))
    }

    // MARK: Replays

    @Test("R2: a replay covers the settled events from the rewind's position on")
    func replay() {
        let settled = Settled(through: 10, and: [12...15])
        let replay = Replay.next(after: nil, of: settled, at: 7).beginning(at: 4)
        #expect(replay == Replay(number: 1, first: 4, last: 15, stamp: 7))
        #expect(!replay.contains(3) && replay.contains(4) && replay.contains(15) && !replay.contains(16))
    }

    @Test("R2: a rewind during a replay also covers the rest of that replay")
    func replayAgain() {
        let first = Replay(number: 1, first: 4, last: 100, stamp: 7)
        let next = Replay.next(after: first, of: Settled(through: 50), at: 8).beginning(at: 40)
        #expect(next == Replay(number: 2, first: 4, last: 100, stamp: 8))
        let late = Replay.next(after: first, of: Settled(through: 120), at: 8).beginning(at: 110)
        #expect(late == Replay(number: 2, first: 110, last: 120, stamp: 8))
    }

    @Test("R3: a replay survives writing and reading, and invalid bytes are rejected")
    func keeps() {
        let replay = Replay(number: 3, first: 4, last: 100, stamp: -7)
        #expect(Replay(kept: replay.kept) == replay && Replay(kept: [1]) == nil)
    }

    @Test("K8: each replay of a dispatcher has its own keys")
    func keys() {
        let identity = StoreIdentity()
        let replays = [
            nil, Replay(number: 1, first: 1, last: 2, stamp: 0), Replay(number: 2, first: 1, last: 2, stamp: 0),
        ]
        #expect(Set(replays.map { identity.origin(of: 1, $0) }).count == 3)
    }

    @Test("Q4, R1: replayed events do not count against the store's limits, and are settled first")
    func backlog() {
        var backlog = Backlog()
        let one = Tally(events: 1, bytes: 10)
        backlog.add(Tally(events: 2, bytes: 20), route: 1, dispatchers: [1])
        backlog.rewind([1: Tally(events: 5, bytes: 50)], of: 1)
        #expect(backlog.unsettled(of: 1).events == 5 && backlog.live.events == 2)
        for _ in 1...3 { backlog.settle(one, route: 1, dispatcher: 1) }
        #expect(backlog.unsettled(of: 1).events == 2 && backlog.live.events == 2)
        for _ in 1...2 { backlog.settle(one, route: 1, dispatcher: 1) }
        #expect(backlog.unsettled(of: 1) == .zero && backlog.live == .zero && backlog.routes.isEmpty)
    }

    @Test("Q4, R2: after a restart in a replay, events that only the replay needs do not count against the limits")
    func backlogAfterRestart() {
        var backlog = Backlog()
        backlog.add(Tally(events: 5, bytes: 50), route: 1, dispatchers: [1])
        backlog.add(Tally(events: 2, bytes: 20), route: 1, dispatchers: [2])
        backlog.markReplayed(by: 1, most: 9)
        #expect(backlog.live.events == 2)
        #expect(backlog.unsettled(of: 1).events == 5 && backlog.unsettled(of: 2).events == 2)
        // Events that were stored after the rewind count.
        backlog.add(Tally(events: 10, bytes: 100), route: 2, dispatchers: [1])
        backlog.add(Tally(events: 10, bytes: 100), route: 3, dispatchers: [3])
        backlog.markReplayed(by: 3, most: 4)
        #expect(backlog.live == Tally(events: 2 + 10 + 6, bytes: 180) && backlog.unsettled(of: 3).events == 10)
    }
}
