import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Outcome of an attempt")
struct VerdictTests {
    private func verdict(
        _ result: SendResult, events: Int = 2, isOversize: Bool = false,
        _ change: (inout DispatcherSettings) -> Void = { _ in }
    ) -> Verdict {
        var settings = DispatcherSettings(id: "collect")
        change(&settings)
        return Verdict(result, events: events, isOversize: isOversize, settings: settings)
    }

    @Test("D3: a complete 2xx answer is a delivery, with any settings")
    func delivered() {
        #expect(verdict(.delivered) == .delivered)
        #expect(verdict(.delivered, events: 1, isOversize: true) { $0.retryFailedRequests = false } == .delivered)
    }

    @Test("D3: with retry_failed_requests off every failure is final")
    func retriesOff() {
        for result: SendResult in [
            .status(503), .status(413), .status(400), .status(401, .notAllowed), .noAnswer(cause: "x"),
            .lost(cause: "x"),
        ] {
            for isOversize in [false, true] {
                let verdict = verdict(result, events: 1, isOversize: isOversize) { $0.retryFailedRequests = false }
                #expect(verdict == .dead(.retriesOff))
            }
        }
    }

    @Test("D2, D3: any answer except success dead-letters an oversize event")
    func oversize() {
        for result: SendResult in [.status(503), .status(413), .status(400), .status(401, .notAllowed)] {
            #expect(verdict(result, events: 1, isOversize: true) == .dead(.oversize))
        }
    }

    @Test("D2: without an answer an oversize event is retried like any other")
    func oversizeWithoutAnswer() {
        let result = SendResult.noAnswer(cause: "connection refused")
        #expect(
            verdict(result, events: 1, isOversize: true) == .retry(cause: "connection refused", charged: false))
    }

    @Test("D3: an event that cannot be sent in a request is dead-lettered, with any settings")
    func unsendable() {
        for retries in [true, false] {
            #expect(
                verdict(.unsendable(cause: "x"), events: 1) { $0.retryFailedRequests = retries } == .dead(.unsendable))
        }
    }

    @Test("D3, D6: 413 halves a batch, and dead-letters a single event")
    func tooLarge() {
        #expect(verdict(.status(413), events: 2) == .halve)
        #expect(verdict(.status(413), events: 1) == .dead(.tooLarge))
    }

    @Test("D3: a permanent refusal dead-letters the events")
    func final() {
        #expect(verdict(.status(400)) == .dead(.refusedStatus))
        #expect(verdict(.status(503, .never)) == .dead(.refusedStatus))
    }

    @Test("D3, D9: a temporary refusal retries the events, charged or not")
    func retried() {
        #expect(verdict(.status(500)) == .retry(cause: "HTTP 500", charged: true))
        #expect(verdict(.status(503)) == .retry(cause: "HTTP 503", charged: false))
        #expect(verdict(.status(413, .again)) == .retry(cause: "HTTP 413", charged: false))
    }

    @Test("D3, D9: a missing answer is retried without charge")
    func noAnswer() {
        #expect(verdict(.noAnswer(cause: "connection refused")) == .retry(cause: "connection refused", charged: false))
    }

    @Test("D2, K3: a lost worker is charged, and another gets the events, even an oversize one")
    func lost() {
        for isOversize in [false, true] {
            let verdict = verdict(.lost(cause: "went away"), events: 1, isOversize: isOversize)
            #expect(verdict == .reassign(cause: "went away"))
        }
    }

    @Test("K3: a batch without an available worker was not sent, so it is retried even with retry_failed_requests off")
    func returned() {
        for retries in [true, false] {
            let verdict = verdict(.returned(cause: "nobody")) { $0.retryFailedRequests = retries }
            #expect(verdict == .retry(cause: "nobody", charged: false))
        }
    }

    @Test("D7: a dispatcher that is not authorized is blocked")
    func notAllowed() {
        #expect(verdict(.status(401, .notAllowed)) == .hold(cause: "HTTP 401"))
        #expect(verdict(.status(403, .notAllowed), events: 1) == .hold(cause: "HTTP 403"))
    }

    @Test("D11: a batch interrupted by a stop stays unchanged")
    func interrupted() {
        #expect(verdict(.interrupted, isOversize: true) { $0.retryFailedRequests = false } == .keep)
    }
}
