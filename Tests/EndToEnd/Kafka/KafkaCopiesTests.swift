import Foundation
import Testing

/// Brokers that store events but acknowledge them late or never. No event is stored twice while the daemon runs.
@Suite struct KafkaCopiesTests {
    private func track(_ count: Int, on daemon: Daemon) async throws {
        let client = try await daemon.connect()
        defer { client.close() }
        for number in 1...count {
            let event: JSON = ["event": "e", "key": .string("k\(number % 5)"), "data": ["n": JSON(number)]]
            _ = try await client.result("track", event)
        }
    }

    private func settled(_ count: Int, _ daemon: Daemon) async throws {
        let entry = try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == count }
        #expect(entry["dead"] == 0)
    }

    @Test("K6: a first message set whose answer is lost with the broker is stored once")
    func lostAnswer() async throws {
        try await withScene { scene in
            let broker = try await scene.strictBroker()
            let daemon = try await scene.daemon(["dispatchers": ["collect": broker.dispatcher(["timeout_ms": 1_000])]])
            try await daemon.pause()
            try await track(25, on: daemon)
            try await broker.order("lose 1")
            try await daemon.resume()
            _ = try await eventually("something is stored") { try await broker.storedNumbers().isEmpty ? nil : true }
            for _ in 1...3 {
                try await broker.order("down")
                let failed = try await daemon.dispatcher()["failed"].int ?? 0
                // On a slow machine all events may have been stored before the broker was down.
                try await daemon.dispatcher(until: "an attempt has failed, or all are settled") {
                    $0["failed"].int ?? 0 > failed || $0["sent"].int == 25
                }
                try await broker.order("lose 1")
                try await broker.order("up")
                _ = try await eventually("a stored event") { try await broker.storedNumbers().count >= 1 ? true : nil }
            }
            try await settled(25, daemon)
            #expect(try await broker.storedNumbers() == Array(1...25))
            #expect(try await broker.order("producers") == "1")
        }
    }

    @Test("K6: a broker that is slower than timeout_ms stores each event once")
    func slow() async throws {
        try await withScene { scene in
            let broker = try await scene.strictBroker()
            try await broker.order("delay 3000")
            let settings = broker.dispatcher(["timeout_ms": 1_000, "dispatch_limit": 100])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            try await daemon.pause()
            try await track(500, on: daemon)
            try await daemon.resume()
            let entry = try await daemon.dispatcher(until: "an attempt has failed") { $0["last_error"] != .null }
            #expect(entry["last_error"] == "timed out")
            try await broker.order("delay 0")
            try await settled(500, daemon)
            #expect(try await broker.storedNumbers() == Array(1...500))
            #expect(try await broker.order("producers") == "1")
        }
    }
}
