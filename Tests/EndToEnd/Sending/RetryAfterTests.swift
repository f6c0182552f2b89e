import Foundation
import Testing

/// The header Retry-After.
@Suite struct RetryAfterTests {
    @Test("D5: Retry-After in seconds is the minimum wait, and new events do not shorten it")
    func seconds() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerAlways(Self.unavailable(for: "600"))
            let daemon = try await scene.daemon(sendingTo: collector)
            let start = Date()
            try await daemon.track(1...1)
            let before = try await daemon.dispatcher(until: "a blocked dispatcher") { $0["state"] == "blocked" }
            // Here and below, the wall clock and the monotonic clock are read one after the other.
            #expect(try time(before) > start + 600 - 0.1)
            try await daemon.track(2...20)
            let after = try await daemon.dispatcher()
            #expect(after.contains(["blocked_by": ["BackoffBarrier:collect"], "pending": 20]))
            #expect(abs(try time(after).timeIntervalSince(time(before))) < 0.1)
            #expect(collector.requests.count == 1)
        }
    }

    @Test("D5: `headgate retry` ends a backoff including Retry-After, and is logged")
    func operatorsRetry() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(Self.unavailable(for: "600"))
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.track(1...1)
            try await daemon.dispatcher(until: "a blocked dispatcher") { $0["state"] == "blocked" }
            let retried = try await CommandLineTool.run("retry", "collect", on: daemon)
            #expect(retried.exitCode == 0 && retried.output.contains("collect"))
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
            try await daemon.logs("dispatcher collect retries now: an operator ended the backoff after HTTP 503")
            #expect(try await CommandLineTool.run("retry", "collect", on: daemon).exitCode == 0)
            #expect(try await CommandLineTool.run("retry", "nowhere", on: daemon).exitCode == 1)
        }
    }

    @Test("D5: a backoff always ends by itself, and then all events are sent in order")
    func endsByItself() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(Self.unavailable(for: "1"))
            let daemon = try await scene.daemon(sendingTo: collector)
            let start = ContinuousClock.now
            try await daemon.track(1...20)
            #expect(try await collector.acceptedIDs(atLeast: 20) == (1...20).map { "e\($0)" })
            #expect(ContinuousClock.now - start >= .seconds(1))
        }
    }

    @Test("D5: Retry-After may be an HTTP date")
    func date() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let date = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 600).rounded(.up))
            collector.answerAlways(Self.unavailable(for: Self.httpDate(date)))
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.track(1...1)
            let waiting = try await daemon.dispatcher(until: "a blocked dispatcher") { $0["state"] == "blocked" }
            #expect(try time(waiting) > date - 0.1)
            #expect(try time(waiting) < date + 1)
            #expect(collector.requests.count == 1)
        }
    }

    @Test(
        "D5: Retry-After applies for at most an hour",
        arguments: ["7200", "99999999999999999999", "Fri, 31 Dec 2199 23:59:59 GMT"])
    func atMostAnHour(value: String) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerAlways(Self.unavailable(for: value))
            let daemon = try await scene.daemon(sendingTo: collector)
            let start = Date()
            try await daemon.track(1...1)
            let waiting = try await daemon.dispatcher(until: "a blocked dispatcher") { $0["state"] == "blocked" }
            #expect(try time(waiting) > start + 3_600 - 0.1)
            #expect(try time(waiting) < Date() + 3_600 + 0.1)
            #expect(collector.requests.count == 1)
        }
    }

    @Test(
        "D5: an invalid Retry-After is ignored", arguments: ["soon", "-5", "1e3", "", "Fri, 99 Foo 2031", "3 seconds"])
    func invalid(value: String) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(Self.unavailable(for: value))
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.track(1...1)
            // The short backoff of this dispatcher sends the event long before the test's time limit.
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
        }
    }

    @Test("D5: a backoff applies to the whole dispatcher, and to no other")
    func ofItsDispatcher() async throws {
        try await withScene { scene in
            let (limited, free) = (try scene.collector(), try scene.collector())
            limited.answerNext(Self.unavailable(for: "3600"))
            let daemon = try await scene.daemon([
                "dispatchers": [
                    "limited": limited.dispatcher(["in_flight": 4, "dispatch_limit": 1]), "free": free.dispatcher(),
                ]
            ])
            try await daemon.track(1...1)
            try await daemon.dispatcher("limited", until: "a blocked dispatcher") { $0["state"] == "blocked" }
            try await daemon.track(2...9)
            #expect(try await free.acceptedIDs(atLeast: 9).count == 9)
            #expect(limited.requests.count == 1)
            #expect(try await daemon.dispatcher("limited").contains(["pending": 9, "in_flight": 0]))
        }
    }

    private static func unavailable(for value: String) -> ScriptedAnswer {
        ScriptedAnswer(status: 503, headers: ["Retry-After: \(value)"])
    }

    private static func httpDate(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = .gmt
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: date)
    }

    private func time(_ dispatcher: JSON) throws -> Date {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return try Date(try #require(dispatcher["retry_at"].string), strategy: style)
    }
}
