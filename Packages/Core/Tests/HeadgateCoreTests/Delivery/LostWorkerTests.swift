import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Batches of lost workers")
struct LostWorkerTests {
    private let lost = SendResult.lost(cause: "the worker disconnected")

    /// Answers batches until no event is stored. A batch with one of the `poison` events loses its worker; every other
    /// batch is delivered.
    private func work(_ bench: GateBench, poison: Set<SequenceNumber>) {
        for _ in 0..<10_000 where bench.gate.stored != .zero {
            while let batch = bench.sender.outstanding.first {
                let isDeadly = batch.events.contains { poison.contains($0.sequenceNumber) }
                bench.sender.answer(isDeadly ? lost : .delivered)
                bench.settle()
            }
            bench.advance(by: .milliseconds(500))
        }
    }

    @Test("K3: the first loss is charged, and another worker gets the batch at once")
    func first() {
        let bench = GateBench()
        bench.track(2)
        bench.sender.answer(lost)
        bench.settle()
        #expect(bench.sender.sent == [[1, 2], [1, 2]])
        #expect(bench.sender.batches.map(\.attempt) == [1, 2])
        #expect(bench.summary().lastError == "the worker disconnected")
        #expect(bench.summary().counters[.failed] == 1 && bench.counters[.retried] == 2)
    }

    @Test("K3: further losses in a row cause a constant short wait, and do not count as failures of the destination")
    func waits() {
        let bench = GateBench { $0.dispatchLimit = 1 }
        bench.track(1)
        bench.sender.answer(lost)
        bench.settle()
        for count in 2..<10 {
            bench.sender.answer(lost)
            bench.advance(by: .milliseconds(499))
            #expect(bench.sender.sent.count == count)
            bench.advance(by: .milliseconds(1))
            #expect(bench.sender.sent.count == count + 1)
        }
        bench.sender.answer(.each([.retry(cause: "busy", charged: true)]))
        bench.advance(by: .milliseconds(500))
        #expect(bench.sender.sent.count == 11, "the wait after the first failure is half a second")
    }

    @Test("K3: from the third loss in a row a batch is halved, until the poison event is alone and is dead-lettered")
    func isolates() {
        let bench = GateBench {
            $0.dispatchLimit = 8
            $0.maxAttempts = 9
        }
        bench.track(1)
        bench.track(8)
        bench.sender.answer()
        bench.settle()
        work(bench, poison: [5])
        #expect(
            bench.sender.sent.dropFirst().prefix(9) == [
                Array(2...9), Array(2...9), Array(2...9), [2, 3, 4, 5], [2, 3], [4, 5], [4], [5], [5],
            ])
        #expect(bench.sender.sent.last == [6, 7, 8, 9])
        #expect(bench.sender.delivered == [1, 2, 3, 4, 6, 7, 8, 9])
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [5])
        #expect(bench.store.memory.deadLetters.map(\.reason) == [.maxAttempts])
        #expect(bench.store.memory.deadLetters.map(\.answer) == ["the worker disconnected"])
        #expect(bench.store.memory.deadLetters.map(\.attempts) == [9])
    }

    @Test(
        "K3: with default settings one poison event among many causes no other dead letter, at any position",
        arguments: 1...25)
    func onlyOne(index: Int) {
        let bench = GateBench()
        bench.track(60)
        work(bench, poison: [SequenceNumber(index)])
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [SequenceNumber(index)])
        #expect(bench.counters[.delivered] == 59)
    }

    @Test(
        "K3: with any limit of attempts a poison event causes no other dead letter", arguments: [1, 2, 4, 7])
    func onlyOneOfFewAttempts(most: Int) {
        let bench = GateBench { $0.maxAttempts = most }
        bench.track(30)
        work(bench, poison: [8])
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [8])
        #expect(bench.store.memory.deadLetters.map(\.attempts) == [most])
        #expect(bench.counters[.delivered] == 29)
    }

    @Test("K3: batches of other workers that succeed meanwhile do not make the halves larger")
    func besideOthers() {
        let bench = GateBench {
            $0.dispatchLimit = 4
            $0.inFlight = 4
        }
        bench.track(4)
        for _ in 1...3 {
            bench.track(8)
            bench.sender.answer(lost, to: bench.sender.outstanding.first { $0.events[0].sequenceNumber == 1 }?.number)
            for batch in bench.sender.outstanding where batch.events[0].sequenceNumber != 1 {
                bench.sender.answer(.delivered, to: batch.number)
            }
            bench.advance(by: .milliseconds(500))
        }
        let halves = bench.sender.outstanding.map { $0.events.map(\.sequenceNumber) }
        #expect(halves.contains([1, 2]) && halves.contains([3, 4]))
    }

    @Test("K3, B22: a half does not wait for a full batch")
    func batchingDoesNotHold() throws {
        let bench = GateBench { $0.dispatchLimit = 4 }
        try bench.gate.barriers.configure(
            id: "b", kind: "BatchingBarrier", scopes: nil, configuration: ["batch_size": 4])
        bench.settle()
        bench.track(4)
        for _ in 1...3 {
            bench.sender.answer(lost)
            bench.advance(by: .milliseconds(500))
        }
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent.suffix(2) == [[1, 2], [3, 4]])
    }

    @Test("K3: an answer resets the count of losses, so that batches are full again")
    func inARow() {
        let bench = GateBench { $0.dispatchLimit = 4 }
        bench.track(4)
        let again = EventOutcome.retry(cause: "busy", charged: true)
        for result in [lost, lost, .each(Array(repeating: again, count: 4)), lost, lost] {
            bench.sender.answer(result)
            bench.advance(by: .seconds(1))
        }
        #expect(bench.sender.sent.allSatisfy { $0 == [1, 2, 3, 4] } && bench.sender.sent.count == 6)
    }

    @Test("K3, Q4, D12: events that expired with a lost worker are not sent to another")
    func expired() {
        let bench = GateBench()
        bench.track(EventDraft())
        bench.track(EventDraft(timeToLive: .seconds(10)))
        bench.settle()
        bench.advance(by: .seconds(10))
        bench.sender.answer(lost)
        bench.settle()
        #expect(bench.sender.sent == [[1, 2], [1]] && bench.counters[.expired] == 1)
    }
}
