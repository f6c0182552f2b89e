import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

/// Destinations that report an outcome for each event of a batch.
@Suite("Outcomes per event")
struct EachOutcomeTests {
    private let later = EventOutcome.retry(cause: "busy", charged: true)

    private func verdict(_ outcome: EventOutcome, isOversize: Bool = false, retries: Bool = true) -> Verdict {
        var settings = DispatcherSettings(id: "collect")
        settings.retryFailedRequests = retries
        return Verdict(outcome, isOversize: isOversize, settings: settings)
    }

    @Test("D3: an event's verdict has the precedence of a batch's: delivered, retries off, oversize, outcome")
    func table() {
        let dead = EventOutcome.dead(.refused, cause: "no")
        #expect(verdict(.delivered, isOversize: true, retries: false) == .delivered)
        #expect(verdict(later, isOversize: true, retries: false) == .dead(.retriesOff))
        #expect(verdict(dead, retries: false) == .dead(.retriesOff))
        #expect(verdict(later, isOversize: true) == .dead(.oversize))
        #expect(verdict(dead, isOversize: true) == .dead(.oversize))
        #expect(verdict(.retry(cause: "x", charged: false), isOversize: true) == .retry(cause: "x", charged: false))
        #expect(verdict(dead) == .dead(.refused))
        #expect(verdict(later) == .retry(cause: "busy", charged: true))
        #expect(verdict(.retry(cause: "x", charged: false)) == .retry(cause: "x", charged: false))
    }

    @Test("K3, K4: delivered events are settled, refused ones dead-lettered, and the rest is retried")
    func partialSuccess() throws {
        let bench = GateBench()
        bench.track(4)
        // The first event was sent alone, since it arrived first.
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent.count == 1)
        bench.track(4)
        bench.sender.answer(.each([.delivered, later, .dead(.refused, cause: "never"), .delivered]))
        bench.settle()
        let summary = bench.summary()
        #expect(summary.counters[.sent] == 6)
        #expect(summary.counters[.dead] == 1)
        #expect(summary.pending == 1)
        #expect(summary.counters[.failed] == 1)
        #expect(summary.lastError == "busy")
        #expect(bench.counters[.retried] == 1)
        let deadLetter = try #require(bench.store.memory.deadLetters.first)
        #expect(deadLetter.sequenceNumber == 7)
        #expect(deadLetter.reason == .refused)
        #expect(deadLetter.status == nil)
        #expect(deadLetter.answer == "never")
        #expect(deadLetter.attempts == 1)
        let event = try #require(deadLetter.event?.json(attempt: 1))
        #expect(String(decoding: event, as: UTF8.self).contains(#""seq":7,"#))
        bench.advance(by: .milliseconds(500))
        #expect(bench.sender.sent.last == [6])
        #expect(String(decoding: try #require(bench.sender.batches.last).body, as: UTF8.self).contains(#""attempt":2"#))
    }

    @Test("O4: the log line of dead letters has their own cause, not that of events that are retried")
    func causeOfDeadLetters() {
        let bench = GateBench()
        var causes: [String?] = []
        let watching = bench.gate.counts.lost.subscribe { if $0.kind == .dead(.refused) { causes.append($0.cause) } }
        bench.track(2)
        bench.sender.answer()
        bench.settle()
        bench.track(2)
        bench.sender.answer(.each([later, .dead(.refused, cause: "never")]))
        bench.settle()
        watching.dispose()
        #expect(causes == ["never"])
    }

    @Test("D4: a partial success does not skip the wait, but resets the backoff")
    func partialSuccessWaits() {
        let bench = GateBench()
        bench.track(2)
        for wait in [500, 1000] {
            bench.sender.answer(.each([later, later]))
            bench.advance(by: .milliseconds(wait))
        }
        bench.sender.answer(.each([.delivered, later]))
        bench.settle()
        let count = bench.sender.sent.count
        bench.advance(by: .milliseconds(499))
        #expect(bench.sender.sent.count == count)
        bench.advance(by: .milliseconds(1))
        #expect(bench.sender.sent.last == [2])
    }

    @Test("D9: each event is charged by its own outcome")
    func charges() {
        let bench = GateBench { $0.maxAttempts = 2 }
        bench.track(2)
        for _ in 0..<2 {
            bench.sender.answer(.each([later, .retry(cause: "timed out", charged: false)]))
            bench.advance(by: .seconds(300))
        }
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [1])
        #expect(bench.store.memory.deadLetters.map(\.reason) == [.maxAttempts])
        #expect(bench.store.memory.deadLetters.map(\.answer) == ["busy"])
        #expect(bench.sender.sent.last == [2])
    }

    @Test("Delivering all events is a success, and dead-lettering all causes no wait")
    func noneRetried() {
        let bench = GateBench()
        bench.track(2)
        bench.sender.answer(.each([.delivered, .delivered]))
        bench.settle()
        #expect(bench.summary().counters[.sent] == 2)
        #expect(bench.summary().counters[.failed] == 0)
        bench.track(1)
        bench.sender.answer(.each([.dead(.tooLarge, cause: "too large")]))
        bench.track(1)
        #expect(bench.sender.sent.last == [4])
        #expect(bench.summary().retryAt == nil)
    }

    @Test("D8, B10: the last error is shown even if no event of the batch is retried")
    func lastErrorOfDead() {
        let bench = GateBench()
        bench.track(1)
        bench.track(3)
        bench.sender.answer()
        bench.settle()
        let outcomes = ["never", "not at all"].map { EventOutcome.dead(.refused, cause: $0) }
        bench.sender.answer(.each([.delivered] + outcomes))
        #expect(bench.summary().lastError == "never")
    }

    @Test("An event without an outcome is retried, and outcomes without an event are ignored")
    func wrongNumber() {
        let bench = GateBench()
        bench.track(2)
        bench.sender.answer(.each([.delivered]))
        bench.advance(by: .seconds(1))
        #expect(bench.sender.sent.last == [2])
        bench.sender.answer(.each([.delivered, later]))
        bench.settle()
        #expect(bench.summary().counters[.sent] == 2)
        #expect(bench.summary().pending == 0)
    }

    @Test(
        "K4: a duplicate at the first attempt counts as delivered, and is counted and logged, unlike one after a retry")
    func duplicates() throws {
        let bench = GateBench()
        var losses: [EventLoss] = []
        let following = bench.gate.counts.lost.subscribe { losses.append($0) }
        defer { following.dispose() }
        bench.track(1)
        bench.sender.answer(.each([.duplicate]))
        bench.settle()
        #expect(bench.summary().counters[.sent] == 1 && bench.summary().counters[.duplicates] == 1)
        #expect(losses.map(\.kind) == [.duplicates])
        // The acknowledgement was lost, so a duplicate is expected and not counted.
        bench.track(1)
        bench.sender.answer(.noAnswer(cause: "lost"))
        bench.advance(by: .milliseconds(500))
        bench.sender.answer(.each([.duplicate]))
        bench.settle()
        // The event may have been sent before the restart, so a duplicate is not counted.
        bench.track(1)
        try bench.restart()
        bench.sender.answer(.each([.duplicate]))
        bench.settle()
        #expect(bench.summary().counters[.duplicates] == 0 && bench.summary().counters[.sent] == 1)
        #expect(losses.count == 1)
    }

    @Test("K7: events rejected in an accepted batch count as delivered, and are counted, logged and not sent again")
    func partlyRejected() {
        let bench = GateBench()
        var losses: [EventLoss] = []
        let following = bench.gate.counts.lost.subscribe { losses.append($0) }
        defer { following.dispose() }
        bench.track(2)
        // The destination reports more rejected events than the batch has.
        bench.sender.answer(.partlyRejected(events: 9, message: "too old"))
        bench.settle()
        #expect(bench.summary().counters[.sent] == 2 && bench.summary().counters[.partiallyRejected] == 2)
        #expect(bench.summary().counters[.failed] == 0 && bench.summary().pending == 0)
        #expect(losses.map(\.kind) == [.rejected] && losses.map(\.events) == [2] && losses.first?.cause == "too old")
    }
}
