import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Batches that are too large")
struct HalvingTests {
    /// Returns a reply that refuses batches of more than `count` events.
    private func most(_ count: Int) -> (Batch) -> SendResult? {
        { $0.events.count > count ? .status(413) : .delivered }
    }

    @Test("D6: both halves are sent at once, and no attempt is charged")
    func halves() {
        let bench = GateBench {
            $0.dispatchLimit = 8
            $0.maxAttempts = 1
        }
        bench.sender.reply = most(4)
        bench.track(8)
        #expect(bench.sender.sent == [Array(1...8), [1, 2, 3, 4], [5, 6, 7, 8]])
        #expect(bench.sender.batches.allSatisfy { !String(decoding: $0.body, as: UTF8.self).contains(#""attempt":2"#) })
        #expect(bench.store.memory.deadLetters.isEmpty)
        #expect(bench.scheduler.now == ManualScheduler().now)
    }

    @Test("D6: halves are halved again, down to a single event that is too large")
    func downToOne() {
        let bench = GateBench { $0.dispatchLimit = 4 }
        bench.sender.reply = { batch in
            batch.events.contains { $0.sequenceNumber == 3 } ? .status(413) : .delivered
        }
        bench.track(4)
        #expect(bench.store.memory.deadLetters.map(\.reason) == [.tooLarge])
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [3])
        #expect(bench.sender.delivered == [1, 2, 4])
    }

    @Test("D6: the smaller limit is remembered, and grows with each success up to dispatch_limit")
    func remembersAndGrows() {
        let bench = GateBench { $0.dispatchLimit = 20 }
        bench.sender.reply = most(10)
        bench.track(20)
        bench.sender.reply = { _ in .delivered }
        bench.track(200)
        let sizes = bench.sender.sent.map(\.count)
        #expect(sizes.prefix(4) == [20, 10, 10, 11])
        #expect(sizes.contains(20) && sizes.dropFirst(3).dropLast() == sizes.dropFirst(3).dropLast().sorted()[...])
        #expect(bench.sender.delivered == Array(1...220))
    }

    @Test("D6, B22: a half does not wait for a full batch")
    func batchingDoesNotHold() throws {
        let bench = GateBench { $0.dispatchLimit = 11 }
        try bench.gate.barriers.configure(
            id: "b", kind: "BatchingBarrier", scopes: nil, configuration: ["batch_size": 11])
        bench.settle()
        bench.sender.reply = most(6)
        bench.track(11)
        #expect(bench.sender.sent == [Array(1...11), Array(1...6), Array(7...11)])
        bench.track(5)
        #expect(bench.sender.sent.count == 3)
    }

    @Test("D6: the second half contains no later events, even if it has room")
    func secondHalfIsThatHalf() {
        let bench = GateBench { $0.dispatchLimit = 5 }
        bench.track(1)
        bench.track(8)
        bench.sender.answer()
        bench.settle()
        bench.sender.reply = most(3)
        bench.sender.answer(.status(413))
        bench.settle()
        #expect(bench.sender.sent == [[1], Array(2...6), [2, 3, 4], [5, 6], [7, 8, 9]])
    }

    @Test("D6: with several batches in flight other events are sent next to the halves")
    func othersContinue() {
        let bench = GateBench {
            $0.dispatchLimit = 4
            $0.inFlight = 2
        }
        bench.track(8)
        bench.track(4)
        bench.sender.answer(.status(413), to: 1)
        bench.settle()
        #expect(bench.sender.sent == [[1, 2, 3, 4], [5, 6, 7, 8], [1, 2]])
        bench.sender.reply = most(4)
        while !bench.sender.outstanding.isEmpty {
            bench.sender.answer()
            bench.settle()
        }
        #expect(bench.sender.delivered.sorted() == Array(1...12))
    }

    @Test("D6: two batches that were too large are both sent in halves, even if refused in reverse order")
    func reverseOrder() {
        var limit = BatchLimit(8)
        limit.halve(4, through: 8)
        limit.halve(4, through: 4)
        for number in 1...8 as ClosedRange<SequenceNumber> {
            #expect(limit.isHalf(number) && !limit.mayJoin(9, with: number) && limit.mayJoin(8, with: number))
        }
        #expect(!limit.isHalf(9) && limit.mayJoin(10, with: 9) && limit.mayJoin(9, with: nil))
    }

    @Test("D6, B22: in a gate the halves of both batches do not wait for full batches, in any order of refusal")
    func reverseOrderThroughGate() throws {
        let bench = GateBench {
            $0.dispatchLimit = 4
            $0.inFlight = 2
        }
        try bench.gate.barriers.configure(
            id: "b", kind: "BatchingBarrier", scopes: nil, configuration: ["batch_size": 4])
        bench.settle()
        bench.track(8)
        bench.sender.answer(.status(413), to: 2)
        bench.sender.answer(.status(413), to: 1)
        bench.settle()
        bench.sender.reply = { _ in .delivered }
        while !bench.sender.outstanding.isEmpty {
            bench.sender.answer()
            bench.settle()
        }
        #expect(bench.sender.delivered.sorted() == Array(1...8))
    }

    @Test("D6, B6: a pause between the halves holds the second")
    func pauseHolds() {
        let bench = GateBench { $0.dispatchLimit = 4 }
        bench.track(4)
        bench.sender.answer(.status(413))
        bench.settle()
        _ = bench.gate.pause("collect", reason: nil, isFlushable: true) { _ in }
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent.count == 2)
    }

    @Test("D6, S3: a change of settings restores the limit, and pending halves stay halves")
    func otherSettings() {
        let bench = GateBench { $0.dispatchLimit = 8 }
        bench.track(8)
        bench.sender.answer(.status(413))
        bench.track(8)
        var settings = bench.dispatchers[0]
        settings.maxAttempts = 7
        bench.gate.changeDispatcher(settings, kind: "recording", sender: nil, reachesNetwork: false)
        for _ in 1...2 {
            bench.sender.answer()
            bench.settle()
        }
        #expect(bench.sender.sent == [Array(1...8), Array(1...4), Array(5...8), Array(9...16)])
    }

    @Test("D6: the limit is halved, rounded up, at least one, and a late refusal does not raise it")
    func limit() {
        var limit = BatchLimit(25)
        limit.halve(25, through: 0)
        #expect(limit.current == 13)
        limit.halve(13, through: 0)
        limit.halve(25, through: 0)
        #expect(limit.current == 7)
        for _ in 0..<10 { limit.halve(limit.current, through: 0) }
        #expect(limit.current == 1)
        for _ in 0..<100 { limit.succeeded(limit.current) }
        #expect(limit.current == 25)
        limit.halve(20, through: 0)
        limit.succeeded(3)
        #expect(limit.current == 10)
        #expect(BatchLimit(0).current == 1)
    }
}
