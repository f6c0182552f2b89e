import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("Order")
struct KeyOrderTests {
    private func bench(inFlight: Int, limit: Int = 2) -> GateBench {
        GateBench {
            $0.inFlight = inFlight
            $0.dispatchLimit = limit
        }
    }

    @Test("Q2: by default one batch is in flight, and events are sent in order of their sequence numbers")
    func oneInFlight() {
        let bench = bench(inFlight: 1)
        bench.track(5)
        #expect(bench.sender.sent == [[1, 2]])
        bench.sender.reply = { _ in .delivered }
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent == [[1, 2], [3, 4], [5]])
    }

    @Test("Q2: a failed batch is retried before later events")
    func retriedFirst() {
        let bench = bench(inFlight: 1)
        bench.track(4)
        bench.sender.answer(.status(500))
        bench.sender.reply = { _ in .delivered }
        bench.advance(by: .milliseconds(500))
        #expect(bench.sender.sent == [[1, 2], [1, 2], [3, 4]])
    }

    @Test("Q2: up to in_flight batches may be in flight")
    func severalInFlight() {
        let bench = bench(inFlight: 3)
        bench.track(9)
        #expect(bench.sender.sent == [[1, 2], [3, 4], [5, 6]])
        #expect(bench.summary().inFlight == 6)
        bench.sender.answer(to: 2)
        bench.settle()
        #expect(bench.sender.sent.last == [7, 8])
        #expect(bench.sender.outstanding.count == 3)
    }

    @Test("Q2, P6: a key is compared without its escapes, and unpaired surrogates are different keys")
    func spelledOtherwise() {
        let bench = bench(inFlight: 9, limit: 1)
        let rawKeys = [#""a""#, #""\u0061""#, #""\ud800""#, #""\udc00""#, #""\ufffd""#, #""\uD800""#]
        for rawKey in rawKeys { bench.track(EventDraft(rawKey: rawKey)) }
        bench.settle()
        #expect(bench.sender.sent == [[1], [3], [4], [5]])
        bench.sender.answer(to: 1)
        bench.settle()
        #expect(bench.sender.sent.last == [2])
        bench.sender.answer(to: 2)
        bench.settle()
        #expect(bench.sender.sent.last == [6])
    }

    @Test("Q2: an event waits for an unsettled older one with its key, and events of other keys are sent")
    func keyWaits() {
        let bench = bench(inFlight: 3, limit: 1)
        for key in ["a", "a", "b", nil, "a"] { bench.track(EventDraft(key: key)) }
        bench.settle()
        #expect(bench.sender.sent == [[1], [3], [4]])
        bench.sender.answer(to: 2)
        bench.settle()
        #expect(bench.sender.sent.count == 3)
        bench.sender.answer(to: 1)
        bench.settle()
        #expect(bench.sender.sent.last == [2])
        bench.sender.answer(to: 4)
        bench.settle()
        #expect(bench.sender.sent.last == [5])
    }

    @Test("Q2: an event also waits while the older one waits for a retry")
    func keyWaitsForRetry() {
        let bench = bench(inFlight: 2, limit: 1)
        for key in ["a", "b", "a"] { bench.track(EventDraft(key: key)) }
        bench.settle()
        bench.sender.answer(.status(503), to: 1)
        bench.sender.answer(to: 2)
        bench.settle()
        #expect(bench.sender.sent == [[1], [2]])
        bench.advance(by: .milliseconds(500))
        #expect(bench.sender.sent == [[1], [2], [1]])
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent.last == [3])
    }

    @Test("Q2: events of one key may go in one batch, in order")
    func sameBatch() {
        let bench = bench(inFlight: 2, limit: 3)
        for key in ["a", "a", "a", "a", "b"] { bench.track(EventDraft(key: key)) }
        bench.settle()
        #expect(bench.sender.sent == [[1, 2, 3], [5]])
    }

    @Test("Q2: with one batch in flight keys have no effect")
    func keysWithOneInFlight() {
        let bench = bench(inFlight: 1)
        for key in ["a", "a", "b"] { bench.track(EventDraft(key: key)) }
        bench.settle()
        #expect(bench.sender.sent == [[1, 2]])
    }

}
