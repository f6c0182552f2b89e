import Foundation
import Testing

/// A collector that goes down and comes back.
@Suite struct OutageTests {
    /// Retries so late that a test can observe the wait. The wait is random between 0 and this value (D4).
    static let slow: JSON = ["backoff": ["base_ms": 100_000_000, "cap_ms": 100_000_000]]

    @Test("D3: events survive refused connections, and are delivered once and in order when the collector is back")
    func downAndUpAgain() async throws {
        try await withScene { scene in
            let collector = try scene.collector(listening: false)
            let daemon = try await scene.daemon(sendingTo: collector)
            let ids = try await daemon.track(1...60)
            try await daemon.dispatcher(until: "an attempt has failed") { $0["last_error"] != .null }
            #expect(try await daemon.dispatcher().contains(["sent": 0, "dead": 0]))

            try collector.listen()
            #expect(try await collector.acceptedIDs(atLeast: 60) == ids)
            let settled = try await daemon.dispatcher(until: "an empty queue") {
                $0["pending"].int == 0 && $0["in_flight"].int == 0
            }
            #expect(settled.contains(["state": "open", "blocked_by": [], "sent": 60, "retry_at": .null]))
            #expect(collector.acceptedIDs == ids)
        }
    }

    @Test("B28, D8: during a backoff the BackoffBarrier is closed, with its cause and the time of the next attempt")
    func waitIsVisible() async throws {
        try await withScene { scene in
            let collector = try scene.collector(listening: false)
            let daemon = try await scene.daemon(sendingTo: collector, Self.slow)
            #expect(try await daemon.barrier("BackoffBarrier:collect")["states"] == ["collect": "open"])
            try await daemon.track(1...3)
            let waiting = try await daemon.dispatcher(until: "a blocked dispatcher") { $0["state"] == "blocked" }
            #expect(waiting["blocked_by"] == ["BackoffBarrier:collect"])
            #expect(waiting["pending"] == 3)
            #expect(waiting["retry_at"].string?.wholeMatch(of: timestampPattern) != nil)
            #expect(waiting["last_error"].string?.lowercased().contains("connection refused") == true)

            let barrier = try await daemon.barrier("BackoffBarrier:collect")
            #expect(barrier.contains(["word": "backoff", "flushable": false, "states": ["collect": "closed"]]))
            #expect(barrier["reason"].string?.lowercased().contains("connection refused") == true)
        }
    }

    @Test("D8: after an HTTP error its status is the cause")
    func statusIsTheCause() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerAlways(.status(503))
            let daemon = try await scene.daemon(sendingTo: collector, Self.slow)
            try await daemon.track(1...1)
            try await daemon.dispatcher(until: "a blocked dispatcher") { $0["state"] == "blocked" }
            #expect(try await daemon.barrier("BackoffBarrier:collect")["reason"].string?.contains("HTTP 503") == true)
        }
    }

    @Test("D5: new events never shorten a wait")
    func newEventsDoNotShortenTheWait() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerAlways(.status(503))
            let daemon = try await scene.daemon(sendingTo: collector, Self.slow)
            try await daemon.track(1...1)
            let before = try await daemon.dispatcher(until: "a blocked dispatcher") { $0["state"] == "blocked" }
            try await daemon.track(2...50)
            let after = try await daemon.dispatcher()
            let (planned, now) = (try time(before["retry_at"]), try time(after["retry_at"]))
            #expect(abs(now.timeIntervalSince(planned)) < 1)
            #expect(after["pending"] == 50)
            #expect(collector.requests.count == 1)
        }
    }

    @Test("P5: after 503 and 200 the same events were sent with the same ids, and count as sent once")
    func unavailableThenAccepted() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(503), .status(503))
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.pause()
            let ids = try await daemon.track(1...3)
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 3) == ids)
            #expect(collector.requests.map(\.status) == [503, 503, 200])
            #expect(collector.requests.map(\.ids) == [ids, ids, ids])
            // The destination reports that it is unavailable, which charges no attempt (D9).
            #expect(collector.requests.map { $0.events[0]["attempt"] } == [1, 1, 1])
            try await daemon.dispatcher(until: "an empty queue") { $0["sent"].int == 3 && $0["pending"].int == 0 }
        }
    }

    @Test("D3: a connection closed instead of an answer is retried without charge")
    func cutConnection() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(ScriptedAnswer(hangsUp: true))
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.track(1...1)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
            #expect(collector.accepted[0].events[0]["attempt"] == 1)
        }
    }

    @Test("D3, D9: an answer after the timeout affects neither its own batch nor the next")
    func lateAnswer() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.held, .accepted, .status(503))
            let daemon = try await scene.daemon(sendingTo: collector, ["timeout_ms": 2_000])
            try await daemon.track(1...1)
            try await daemon.dispatcher(until: "the second attempt succeeds") { $0["sent"].int == 1 }
            collector.release()
            try await daemon.track(2...2)
            try await daemon.dispatcher(until: "the refused event is delivered, too") { $0["sent"].int == 2 }
            #expect(collector.requests.map(\.ids) == [["e1"], ["e1"], ["e2"], ["e2"]])
            #expect(collector.requests.dropFirst(2).map(\.status) == [503, 200])
        }
    }

    @Test("D5: backoffs end with a restart")
    func restartEndsTheWait() async throws {
        try await withScene { scene in
            let collector = try scene.collector(listening: false)
            let daemon = try await scene.daemon(sendingTo: collector, Self.slow)
            let ids = try await daemon.track(1...5)
            try await daemon.dispatcher(until: "a blocked dispatcher") { $0["state"] == "blocked" }
            #expect(try await daemon.stop() == 0)
            try collector.listen()
            try await daemon.start()
            #expect(try await collector.acceptedIDs(atLeast: 5) == ids)
        }
    }

    @Test("Delivery continues after a collector was down between two batches")
    func downBetweenBatches() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.track(1...5)
            // The collector accepts a batch before the daemon has its answer.
            try await daemon.dispatcher(until: "the first events are delivered") { $0["sent"].int == 5 }
            collector.goDown()
            try await daemon.track(6...10)
            try await daemon.dispatcher(until: "an attempt has failed") { $0["last_error"] != .null }
            try collector.listen()
            #expect(try await collector.acceptedIDs(atLeast: 10) == (1...10).map { "e\($0)" })
        }
    }

    private func time(_ text: JSON) throws -> Date {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return try Date(try #require(text.string), strategy: style)
    }
}
