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

    @Test("D3: 2xx with a whole answer is delivered, whatever the settings")
    func delivered() {
        #expect(verdict(.delivered) == .delivered)
        #expect(verdict(.delivered, events: 1, isOversize: true) { $0.retryFailedRequests = false } == .delivered)
    }

    @Test("D3: with retry_failed_requests off every failure is final, before all else")
    func retriesOff() {
        for result: SendResult in [
            .status(503), .status(413), .status(200), .noAnswer(cause: "x"), .returned(cause: "x"),
        ] {
            for isOversize in [false, true] {
                let verdict = verdict(result, events: 1, isOversize: isOversize) {
                    $0.retryFailedRequests = false
                    $0.retryForStatusCodes = [503: true, 413: true]
                }
                #expect(verdict == .dead(.retriesOff))
            }
        }
    }

    @Test("D3: an oversize event is dead before its status is looked at")
    func oversize() {
        for result: SendResult in [.status(503), .status(413), .status(400), .noAnswer(cause: "x")] {
            let verdict = verdict(result, events: 1, isOversize: true) { $0.retryForStatusCodes = [503: true] }
            #expect(verdict == .dead(.oversize))
        }
    }

    @Test("D3: retry_for_status_codes goes before the rest", arguments: [400, 401, 403, 413, 404, 500])
    func statusCodes(status: Int) {
        for policy in [DispatcherSettings.OnUnauthorized.dead, .pause] {
            let retried = verdict(.status(status)) {
                $0.retryForStatusCodes = [status: true]
                $0.onUnauthorized = policy
            }
            #expect(retried == .retry(cause: "HTTP \(status)", charged: status != 413))
            let dead = verdict(.status(status)) {
                $0.retryForStatusCodes = [status: false]
                $0.onUnauthorized = policy
            }
            #expect(dead == .dead(.refusedStatus))
        }
    }

    @Test("D3, D6: 413 halves several events and is the end of one")
    func tooLarge() {
        #expect(verdict(.status(413), events: 2) == .halve)
        #expect(verdict(.status(413), events: 1) == .dead(.tooLarge))
    }

    @Test("D3: these are final", arguments: [400, 401, 403, 410, 422])
    func final(status: Int) {
        #expect(verdict(.status(status)) == .dead(.refusedStatus))
    }

    @Test(
        "D3: anything else is retried",
        arguments: [100, 301, 304, 402, 404, 405, 408, 409, 425, 429, 451, 500, 502, 503, 599])
    func retried(status: Int) {
        #expect(verdict(.status(status)) == .retry(cause: "HTTP \(status)", charged: true))
    }

    @Test("D3, D9: no answer is retried, and charges nothing")
    func noAnswer() {
        #expect(verdict(.noAnswer(cause: "connection refused")) == .retry(cause: "connection refused", charged: false))
    }

    @Test("D2, K3: what comes back unanswered is sent again, and charges nothing, also when it is oversize")
    func returned() {
        for isOversize in [false, true] {
            let verdict = verdict(.returned(cause: "went away"), events: 1, isOversize: isOversize)
            #expect(verdict == .retry(cause: "went away", charged: false))
        }
    }

    @Test("D7: with on_unauthorized pause, 401 and 403 hold the dispatcher", arguments: [401, 403])
    func unauthorized(status: Int) {
        #expect(verdict(.status(status)) { $0.onUnauthorized = .pause } == .hold(cause: "HTTP \(status)"))
        #expect(verdict(.status(400)) { $0.onUnauthorized = .pause } == .dead(.refusedStatus))
    }

    @Test("D11: what was given up for a stop stays as it was")
    func interrupted() {
        #expect(verdict(.interrupted, isOversize: true) { $0.retryFailedRequests = false } == .keep)
    }
}
