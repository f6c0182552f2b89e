import Foundation
import Testing

/// A full stream that refuses messages while a consumer makes room.
@Suite struct NATSFullStreamTests {
    @Test(
        "Q2, K4: events of a key stay in order although the stream refuses some, and a full stream charges no attempt")
    func fullNowAndThen() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode()
            try await node.createStream(["max_msgs": 5, "discard": "new"])
            let settings = node.dispatcher(["max_attempts": 1, "dispatch_limit": 50])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            try await daemon.pause()
            let client = try await daemon.connect()
            defer { client.close() }
            for number in 1...60 {
                let key = JSON.string("k\(number % 2)")
                _ = try await client.result("track", ["event": "e", "id": .string("e\(number)"), "key": key])
            }
            try await daemon.resume()
            // On a busy machine an acknowledgement may come too late, so that an event is stored twice. That is not the
            // subject here.
            var seen: [StoredMessage] = []
            var ids: Set<String?> = []
            while seen.count < 60 {
                // The consumer makes room for some events, so that the stream becomes full again in the middle of a
                // batch.
                let taken = try await node.ask("messages") { try $0.takeMessages() }
                seen += taken.filter { ids.insert($0.event["id"].string).inserted }
            }
            let entry = try await daemon.dispatcher(until: "all are settled") { $0["sent"] == 60 }
            #expect(entry["dead"] == 0)
            for key in ["k0", "k1"] {
                let numbers = seen.filter { $0.event["key"].string == key }.compactMap { $0.event["seq"].int }
                #expect(numbers.count == 30 && numbers == numbers.sorted(), "\(key): \(numbers)")
            }
        }
    }
}
