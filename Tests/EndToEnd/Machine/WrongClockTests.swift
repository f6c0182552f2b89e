import Foundation
import Testing

/// A wall clock that is set while the daemon runs, and while it is stopped.
@Suite struct WrongClockTests {
    @Test(
        "P7: a jump of the wall clock by an hour expires, forgets and delays nothing, even across a start",
        arguments: [3_600, -3_600])
    func jumps(seconds: Int) async throws {
        try await withScene { scene in
            let fault = try await MachineFault.wrongClock(in: scene.directory.path)
            let collector = try scene.collector()
            collector.answerAlways(.status(503))
            let daemon = scene.idleDaemon()
            daemon.environment = fault.environment
            try daemon.configure([
                "dispatchers": ["collect": collector.dispatcher(OutageTests.slow), "held": collector.dispatcher()],
                "store": ["max_age_s": 1_800, "dedupe_window_s": 1_800],
            ])
            try await daemon.start()
            try await daemon.pause("held")
            let client = try await daemon.connect()
            let aged: JSON = ["event": "x", "id": "aged", "ttl_ms": 1_800_000]
            let before = try await client.result("track", aged)
            try await daemon.dispatcher(until: "a backoff") { $0["retry_at"] != .null }

            try fault.set(to: "\(seconds)")
            #expect(try await client.result("track", aged) == ["id": "aged", "seq": before["seq"], "duplicate": true])
            _ = try await client.result("track", ["event": "x", "id": "later"])
            #expect(collector.requests.count == 1)
            try await daemon.killNow()
            collector.answerAlways(.accepted)
            try await daemon.start()
            try await daemon.resume("held")
            try await eventually("both are delivered twice") {
                collector.accepted.flatMap(\.ids).sorted() == ["aged", "aged", "later", "later"]
            }
            #expect(try await daemon.ask("track", aged)["duplicate"] == true)
            #expect(try await daemon.counter("expired") == 0)
            let receipts = try collector.accepted.flatMap(\.events).map { ($0["id"], try time($0["received_at"])) }
            let (first, last) = (receipts.first { $0.0 == "aged" }, receipts.first { $0.0 == "later" })
            // Checks that the clock did jump.
            let distance = try #require(last).1.timeIntervalSince(try #require(first).1)
            #expect(abs(distance - Double(seconds)) < 300)
        }
    }

    private func time(_ text: JSON) throws -> Date {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return try Date(try #require(text.string), strategy: style)
    }
}
