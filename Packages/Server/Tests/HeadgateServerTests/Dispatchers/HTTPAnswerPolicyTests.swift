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

    @Test("D3: retry_for_status_codes goes before the rest", arguments: [400, 401, 403, 413, 404, 500])
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

    @Test("D3, D6, D9: 413 is too large, and charges nothing")
    func tooLarge() {
        #expect(refusal(413).meaning == .tooLarge && !refusal(413).isCharged)
    }

    @Test("D3: these are final", arguments: [400, 401, 403, 410, 422])
    func final(status: Int) {
        #expect(refusal(status).meaning == .never && refusal(status).isCharged)
    }

    @Test(
        "D3: anything else is retried",
        arguments: [100, 301, 304, 402, 404, 405, 407, 409, 425, 451, 500, 501, 505, 599])
    func retried(status: Int) {
        #expect(refusal(status).meaning == .again && refusal(status).isCharged)
    }

    @Test(
        "D9: a destination that is away or overloaded charges nothing, also where settings say that it is retried",
        arguments: [408, 429, 502, 503, 504])
    func outage(status: Int) {
        #expect(refusal(status).meaning == .again && !refusal(status).isCharged)
        #expect(!refusal(status) { $0.retryForStatusCodes = [status: true] }.isCharged)
        #expect(refusal(status) { $0.retryForStatusCodes = [status: false] }.meaning == .never)
    }

    @Test("D9: whatever a proxy says that does not connect, the events wait, and its Retry-After counts")
    func proxy() {
        for status in [403, 407, 503] {
            #expect(
                HTTPAnswerPolicy.refusalByProxy(status: status, retryAfter: .seconds(7))
                    == .noAnswer(cause: "proxy: HTTP \(status)", retryAfter: .seconds(7)))
        }
    }

    @Test("D7: with on_unauthorized pause, 401 and 403 hold the dispatcher", arguments: [401, 403])
    func unauthorized(status: Int) {
        #expect(refusal(status) { $0.onUnauthorized = .pause }.meaning == .notAllowed)
        #expect(refusal(400) { $0.onUnauthorized = .pause }.meaning == .never)
    }

    @Test("A9: 401 alone says that the sender is not accepted, whatever else it means")
    func boardRunsAgain() {
        for isRetried in [nil, true, false] {
            #expect(refusal(401) { $0.retryForStatusCodes[401] = isRetried }.isUnauthorized)
        }
        #expect(!refusal(403).isUnauthorized && !refusal(400).isUnauthorized)
    }
}

extension SendResult {
    /// Returns the result of an answer with a status under the default policy.
    static func http(_ status: Int, retryAfter: Duration? = nil, answer: String? = nil) -> SendResult {
        .refused(HTTPAnswerPolicy().refusal(status: status, retryAfter: retryAfter, answer: answer))
    }
}
