import HeadgateCore
import Testing

@testable import HeadgateServer

@Suite("The meaning of HTTP statuses")
struct HTTPAnswerPolicyTests {
    private func refusal(
        _ status: Int, _ change: (inout HTTPAnswerPolicy) -> Void = { _ in }
    ) -> SendResult.Refusal {
        var policy = HTTPAnswerPolicy()
        change(&policy)
        return policy.refusal(status: status)
    }

    @Test(
        "D3: retry_for_status_codes takes precedence over all other rules", arguments: [400, 401, 403, 413, 404, 500])
    func statusCodes(status: Int) {
        for onUnauthorized in [HTTPAnswerPolicy.OnUnauthorized.dead, .pause] {
            for isRetried in [true, false] {
                let refusal = refusal(status) {
                    $0.retryForStatusCodes = [status: isRetried]
                    $0.onUnauthorized = onUnauthorized
                }
                #expect(refusal.meaning == (isRetried ? .again : .never))
                #expect(refusal.cause == "HTTP \(status)" && refusal.status == status)
                #expect(refusal.isCharged == (status != 413))
            }
        }
    }

    @Test("D3, D6, D9: HTTP 413 means that the batch is too large; the attempt is not charged")
    func tooLarge() {
        #expect(refusal(413).meaning == .tooLarge && !refusal(413).isCharged)
    }

    @Test("D3: statuses that dead-letter the events at once", arguments: [400, 401, 403, 410, 422])
    func final(status: Int) {
        #expect(refusal(status).meaning == .never && refusal(status).isCharged)
    }

    @Test(
        "D3: after any other status the events are sent again",
        arguments: [100, 301, 304, 402, 404, 405, 407, 409, 425, 451, 500, 501, 505, 599])
    func retried(status: Int) {
        #expect(refusal(status).meaning == .again && refusal(status).isCharged)
    }

    @Test(
        "D9: attempts at a destination that is down or overloaded are not charged, even if settings request retries",
        arguments: [408, 429, 502, 503, 504])
    func outage(status: Int) {
        #expect(refusal(status).meaning == .again && !refusal(status).isCharged)
        #expect(!refusal(status) { $0.retryForStatusCodes = [status: true] }.isCharged)
        #expect(refusal(status) { $0.retryForStatusCodes = [status: false] }.meaning == .never)
    }

    @Test("D9: when a proxy refuses to connect, with any status, the events stay pending, and its Retry-After counts")
    func proxy() {
        for status in [403, 407, 503] {
            #expect(
                HTTPAnswerPolicy.refusalByProxy(status: status, retryAfter: .seconds(7))
                    == .noAnswer(cause: "proxy: HTTP \(status)", retryAfter: .seconds(7)))
        }
    }

    @Test("D7: with on_unauthorized `pause`, HTTP 401 and 403 pause the dispatcher", arguments: [401, 403])
    func unauthorized(status: Int) {
        #expect(refusal(status) { $0.onUnauthorized = .pause }.meaning == .notAllowed)
        #expect(refusal(400) { $0.onUnauthorized = .pause }.meaning == .never)
    }

    @Test("A9: HTTP 401, and no other status, says that the sender is not authenticated, under any settings")
    func boardRunsAgain() {
        for isRetried in [nil, true, false] {
            #expect(refusal(401) { $0.retryForStatusCodes[401] = isRetried }.isUnauthorized)
        }
        #expect(!refusal(403).isUnauthorized && !refusal(400).isUnauthorized)
    }
}

extension SendResult {
    /// Returns the result of an answer with this status by the default policy.
    static func http(_ status: Int, retryAfter: Duration? = nil, answer: String? = nil) -> SendResult {
        .refused(HTTPAnswerPolicy().refusal(status: status, retryAfter: retryAfter, answer: answer))
    }
}
