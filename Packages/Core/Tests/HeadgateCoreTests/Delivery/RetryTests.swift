import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Retries")
struct RetryTests {
    private let base = Duration.milliseconds(500)
    private let cap = Duration.seconds(300)

    private func waits(_ count: Int, chance: Double, after policy: RetryPolicy = RetryPolicy()) -> [Duration] {
        var policy = policy
        return (0..<count).map { _ in policy.failed(base: base, cap: cap, retryAfter: nil, chance: chance) }
    }

    @Test("D4: waits double from base to cap, with random jitter")
    func doubling() {
        let longest = [0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map { Duration.milliseconds(Int($0 * 1000)) }
        #expect(waits(12, chance: 1) == longest)
        #expect(waits(12, chance: 0.5) == longest.map { $0 / 2 })
        #expect(waits(12, chance: 0) == Array(repeating: .zero, count: 12))
    }

    @Test("D4: the backoff never overflows, for any number of failures and any settings")
    func extremes() {
        var policy = RetryPolicy()
        let long = Duration.milliseconds(Int64.max)
        for (base, least) in [(long, long * 0.99), (.zero, .zero)] {
            let waits = (0..<2000).map { _ in policy.failed(base: base, cap: long, retryAfter: nil, chance: 1) }
            #expect(waits.allSatisfy { $0 >= least && $0 <= least * 1.02 })
        }
    }

    @Test("D4: any success resets the backoff")
    func success() {
        var policy = RetryPolicy()
        for _ in 0..<5 { _ = policy.failed(base: base, cap: cap, retryAfter: nil, chance: 1) }
        policy.succeeded()
        #expect(waits(2, chance: 1, after: policy) == [.milliseconds(500), .seconds(1)])
    }

    @Test("D4: in a gate each attempt follows a doubled wait, and a success resets the backoff")
    func throughGate() {
        let bench = GateBench { $0.dispatchLimit = 1 }
        bench.track(2)
        for wait in [500, 1000, 2000] {
            bench.sender.answer(.status(503))
            let count = bench.sender.sent.count
            bench.advance(by: .milliseconds(wait - 1))
            #expect(bench.sender.sent.count == count)
            bench.advance(by: .milliseconds(1))
            #expect(bench.sender.sent.count == count + 1)
        }
        bench.sender.answer()
        bench.settle()
        bench.sender.answer(.status(503))
        bench.advance(by: .milliseconds(500))
        #expect(bench.sender.sent.count == 6)
        #expect(bench.counters[.retried] == 4)
        #expect(bench.summary().counters[.failed] == 4)
    }

    @Test("D5: Retry-After is the minimum wait of the whole dispatcher, at most an hour")
    func retryAfterIsFloor() {
        let requested: [(Duration?, Int)] = [
            (.seconds(7), 7), (.seconds(7200), 3600), (.zero, 1), (.seconds(Int64.max), 3600), (nil, 1),
        ]
        for (requested, seconds) in requested {
            let bench = GateBench { $0.backoffBase = .seconds(1) }
            bench.track(1)
            bench.sender.answer(.status(503, retryAfter: requested))
            bench.advance(by: .milliseconds(seconds * 1000 - 1))
            #expect(bench.sender.sent.count == 1, "\(String(describing: requested))")
            bench.advance(by: .milliseconds(1))
            #expect(bench.sender.sent.count == 2, "\(String(describing: requested))")
        }
    }

    @Test("D5: new events never shorten a wait, nor cause attempts")
    func newEventsWait() {
        let bench = GateBench()
        bench.track(1)
        bench.sender.answer(.status(429, retryAfter: .seconds(60)))
        for _ in 0..<59 {
            bench.advance(by: .seconds(1))
            bench.track(5)
        }
        #expect(bench.sender.sent.count == 1)
        bench.advance(by: .seconds(1))
        #expect(bench.sender.sent == [[1], Array(1...25)])
    }

    @Test("D9: an event is dead-lettered after max_attempts, and later events continue")
    func maxAttempts() throws {
        let bench = GateBench {
            $0.maxAttempts = 3
            $0.dispatchLimit = 1
        }
        bench.track(2)
        for _ in 0..<3 {
            bench.sender.answer(.refused(.init(.again, cause: "HTTP 503", status: 503, answer: "busy")))
            bench.advance(by: .seconds(300))
        }
        #expect(bench.sender.sent == [[1], [1], [1], [2]])
        let deadLetter = try #require(bench.store.memory.deadLetters.first)
        #expect(deadLetter.reason == .maxAttempts)
        #expect(deadLetter.attempts == 3)
        #expect(deadLetter.status == 503)
        #expect(deadLetter.answer == "busy")
        #expect(deadLetter.sequenceNumber == 1)
        #expect(deadLetter.diedAt.milliseconds - deadLetter.firstFailedAt.milliseconds == 600_000)
        let event = try #require(deadLetter.event?.json(attempt: 1))
        #expect(String(decoding: event, as: UTF8.self).hasPrefix(#"{"id":"made-1","seq":1,"#))
        #expect(bench.counters[.dead] == 1)
        #expect(bench.counters[.retried] == 2)
    }

    @Test(
        "D9: an event is dead-lettered exactly max_retry_age after its first charged attempt", arguments: [true, false])
    func maxRetryAge(isExact: Bool) {
        let bench = GateBench {
            $0.maxRetryAge = .seconds(600) + (isExact ? .zero : .nanoseconds(1))
            $0.maxAttempts = .max
            $0.backoffBase = .seconds(300)
        }
        bench.track(1)
        for count in 1...3 {
            #expect(bench.sender.sent.count == count)
            #expect(bench.store.memory.deadLetters.isEmpty)
            bench.sender.answer(.status(500))
            bench.advance(by: .seconds(300))
        }
        #expect(bench.store.memory.deadLetters.map(\.reason) == (isExact ? [.maxRetryAge] : []))
        #expect(bench.store.memory.deadLetters.map(\.attempts) == (isExact ? [3] : []))
    }

    @Test("D9: an outage of any length causes no dead letters, with any number of earlier charges")
    func outage() {
        let bench = GateBench {
            $0.maxRetryAge = .seconds(600)
            $0.maxAttempts = .max
            $0.backoffBase = .seconds(300)
        }
        bench.track(1)
        bench.sender.answer(.status(500))
        for _ in 0..<1000 {
            bench.advance(by: .seconds(300))
            bench.sender.answer(.noAnswer(cause: "unreachable"))
        }
        bench.advance(by: .seconds(300))
        // The destination answers again. It has been reachable for no longer than one wait since the first attempt.
        bench.sender.answer(.status(500))
        bench.settle()
        #expect(bench.store.memory.deadLetters.isEmpty)
        bench.advance(by: .seconds(300))
        bench.sender.answer(.status(500))
        bench.settle()
        #expect(bench.store.memory.deadLetters.map(\.reason) == [.maxRetryAge])
        #expect(bench.store.memory.deadLetters.map(\.attempts) == [3])
    }

    @Test("D9: time during which a barrier blocks the dispatcher does not count for max_retry_age")
    func heldByBarrier() {
        let bench = GateBench {
            $0.maxRetryAge = .seconds(600)
            $0.backoffBase = .seconds(300)
        }
        bench.track(1)
        bench.sender.answer(.status(500))
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.advance(by: .seconds(100_000))
        _ = bench.gate.resume("collect") { _ in }
        bench.settle()
        bench.sender.answer(.status(500))
        bench.settle()
        #expect(bench.store.memory.deadLetters.isEmpty && bench.counters[.retried] == 2)
    }

    @Test(
        "D9: answers that the destination is unavailable or overloaded are never charged",
        arguments: [408, 429, 502, 503, 504])
    func outageByAnswer(status: Int) {
        let bench = GateBench {
            $0.maxAttempts = 2
            $0.maxRetryAge = .seconds(600)
        }
        bench.track(1)
        bench.sender.answer(.status(500))
        for _ in 0..<300 {
            bench.advance(by: .seconds(300))
            bench.sender.answer(.status(status))
        }
        bench.settle()
        #expect(bench.sender.sent.count == 301 && bench.store.memory.deadLetters.isEmpty)
        #expect(bench.sender.batches.last?.attempt == 2)
        bench.advance(by: .seconds(300))
        bench.sender.answer(.status(500))
        bench.settle()
        #expect(bench.store.memory.deadLetters.map(\.reason) == [.maxAttempts])
    }

    @Test("D9: time during which the destination answers that it is unavailable does not count for max_retry_age")
    func outageDoesNotAge() {
        let bench = GateBench { $0.maxRetryAge = .seconds(600) }
        bench.track(1)
        bench.sender.answer(.status(500))
        for _ in 0..<30 {
            bench.advance(by: .seconds(300))
            bench.sender.answer(.status(503))
        }
        bench.advance(by: .seconds(300))
        bench.sender.answer(.status(500))
        bench.settle()
        #expect(bench.store.memory.deadLetters.isEmpty)
    }

    @Test("D10: the attempt after which an event is dead-lettered counts, with any answer")
    func lastAttemptCounts() {
        for (result, attempts) in [(SendResult.status(413), 1), (.status(400), 1), (.unsendable(cause: "x"), 0)] {
            let bench = GateBench()
            bench.track(1)
            bench.sender.answer(result)
            bench.settle()
            #expect(bench.store.memory.deadLetters.map(\.attempts) == [attempts])
        }
    }

    @Test("D5: an operator's retry ends the wait, including Retry-After, and keeps the count of failures")
    func operatorsRetry() {
        let bench = GateBench()
        bench.track(1)
        #expect(bench.gate.endBackoff(of: "collect") == false && bench.gate.endBackoff(of: "none") == nil)
        bench.sender.answer(.status(503, retryAfter: .seconds(600)))
        bench.settle()
        #expect(bench.summary().retryAt != nil)
        #expect(bench.gate.endBackoff(of: "collect") == true)
        bench.settle()
        #expect(bench.sender.sent.count == 2 && bench.summary().retryAt == nil)
        bench.sender.answer(.status(503))
        bench.advance(by: .milliseconds(999))
        #expect(bench.sender.sent.count == 2, "the wait after the second failure in a row is one second")
        bench.advance(by: .milliseconds(1))
        #expect(bench.sender.sent.count == 3)
    }

    @Test("D9: a retried 413 is not charged, and does not start max_retry_age")
    func retriedSize() {
        let bench = GateBench {
            $0.maxRetryAge = .seconds(1)
            $0.maxAttempts = 1
        }
        bench.track(1)
        for _ in 0..<20 {
            bench.sender.answer(.status(413, .again))
            bench.advance(by: .seconds(300))
        }
        #expect(bench.sender.sent.count == 21 && bench.store.memory.deadLetters.isEmpty)
    }

    @Test("D9: a restart resets the attempts and the time of the first one")
    func forgottenByRestart() throws {
        let bench = GateBench {
            $0.maxRetryAge = .seconds(600)
            $0.backoffBase = .seconds(300)
            $0.maxAttempts = 3
        }
        bench.track(1)
        for _ in 0..<4 {
            for _ in 0..<2 {
                bench.sender.answer(.status(500))
                bench.advance(by: .seconds(300))
            }
            try bench.restart()
        }
        #expect(bench.store.memory.deadLetters.isEmpty)
        #expect(bench.sender.batches.last?.attempt == 1)
    }

    @Test("D8, B10: the last error is shown until an event is delivered")
    func lastError() {
        let bench = GateBench { $0.dispatchLimit = 2 }
        bench.track(4)
        bench.sender.answer(.status(503))
        #expect(bench.summary().lastError == "HTTP 503")
        bench.advance(by: .seconds(1))
        #expect(bench.summary().lastError == "HTTP 503")
        bench.sender.answer()
        #expect(bench.summary().lastError == nil)
        bench.settle()
        bench.sender.answer(.noAnswer(cause: "reset"))
        #expect(bench.summary().lastError == "reset")
        bench.advance(by: .seconds(1))
        bench.sender.answer(.each([.delivered, .retry(cause: "busy", charged: true)]))
        #expect(bench.summary().lastError == "busy")
        bench.advance(by: .seconds(1))
        bench.sender.answer(.each([.delivered]))
        #expect(bench.summary().lastError == nil && bench.gate.stored == .zero)
    }

    @Test("D9: network errors charge no attempt")
    func networkErrors() {
        let bench = GateBench { $0.maxAttempts = 1 }
        bench.track(1)
        for _ in 0..<20 {
            bench.sender.answer(.noAnswer(cause: "unreachable"))
            bench.advance(by: .seconds(300))
        }
        #expect(bench.sender.sent.count == 21)
        bench.sender.answer(.status(500))
        bench.settle()
        #expect(bench.store.memory.deadLetters.map(\.reason) == [.maxAttempts])
    }

    @Test("D3: a final refusal dead-letters the batch at once, and the next is sent without a wait")
    func buried() {
        let bench = GateBench { $0.dispatchLimit = 2 }
        bench.track(3)
        bench.sender.answer(.status(422))
        bench.settle()
        #expect(bench.sender.sent == [[1, 2], [3]])
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [1, 2])
        #expect(bench.store.memory.deadLetters.allSatisfy { $0.reason == .refusedStatus && $0.attempts == 1 })
        #expect(bench.gate.stored.events == 1)
    }

    @Test("D3: with retry_failed_requests off an event is dead-lettered after one attempt")
    func retriesOff() {
        let bench = GateBench { $0.retryFailedRequests = false }
        bench.track(2)
        bench.sender.answer(.noAnswer(cause: "reset"))
        bench.advance(by: .seconds(1))
        #expect(bench.sender.sent == [[1, 2]])
        #expect(bench.store.memory.deadLetters.map(\.reason) == [.retriesOff, .retriesOff])
    }

    @Test("D7: on_unauthorized pause blocks the dispatcher until it is resumed, without charge")
    func unauthorized() {
        let bench = GateBench { $0.maxAttempts = 1 }
        bench.track(1)
        bench.sender.answer(.status(401, .notAllowed))
        bench.advance(by: .seconds(100_000))
        #expect(bench.sender.sent.count == 1)
        #expect(bench.summary().blockedBy == ["ManualBarrier:collect"])
        #expect(bench.barrier("ManualBarrier:collect")?.reason == "HTTP 401")
        _ = bench.gate.resume("collect") { _ in }
        bench.settle()
        #expect(bench.sender.sent == [[1], [1]])
        bench.sender.answer(.status(403, .notAllowed))
        bench.settle()
        #expect(bench.store.memory.deadLetters.isEmpty)
        #expect(bench.gate.stored.events == 1)
    }
}
