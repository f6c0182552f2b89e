import Foundation
import Testing

/// The `nats` dispatcher with a real server.
@Suite struct NATSDispatcherTests {
    @Test("K4: events are stored in the stream once and in order, each with its id and the usual body")
    func delivered() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode()
            try await node.createStream()
            let settings = node.dispatcher(["in_flight": 1, "message_id": "event"])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let ids = try await daemon.track(1...120, data: ["n": 1])
            let messages = try await node.messages(atLeast: 120)
            #expect(messages.map(\.messageID) == ids)
            #expect(messages.allSatisfy { $0.subject == "shop.events" })
            for (message, id) in zip(messages, ids) {
                let event = message.event
                #expect(event.contains(["id": .string(id), "event": .string(id), "attempt": 1, "data": ["n": 1]]))
                #expect(event["seq"].int != nil && event["received_at"].string != nil)
            }
            let entry = try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 120 }
            #expect(entry.contains(["kind": "nats", "pending": 0, "last_error": .null, "state": "open"]))
            #expect(try await daemon.stop() == 0)
        }
    }

    @Test("K4: ids with any text become headers, and stay different")
    func strangeIds() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode()
            try await node.createStream()
            let settings = node.dispatcher(["message_id": "event"])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let ids = ["a b", "a\r\nX: y", "ä", "%41", "A", String(repeating: "x", count: 300)]
            for id in ids { _ = try await daemon.ask("track", ["event": "e", "id": .string(id)]) }
            let messages = try await node.messages(atLeast: ids.count)
            #expect(messages.map { $0.event["id"].string } == ids)
            #expect(messages.prefix(5).map(\.messageID) == ["a%20b", "a%0D%0AX:%20y", "%C3%A4", "%2541", "A"])
            #expect(messages[5].messageID == ids[5])
        }
    }

    @Test("K4: a missing stream is reported, and pending events are delivered when it exists")
    func missingStream() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode()
            let settings = node.dispatcher(["max_attempts": 1])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let ids = try await daemon.track(1...3)
            let waiting = try await daemon.dispatcher(until: "an attempt has failed") { $0["last_error"] != .null }
            #expect(waiting["last_error"] == "NATS: the stream does not exist")
            #expect(waiting["dead"] == 0)
            try await node.createStream()
            #expect(try await node.messages(atLeast: 3).map(\.id) == ids)
            try await daemon.dispatcher(until: "no error") { $0["last_error"] == .null }
        }
    }

    @Test("K4: without a stream's name, a subject without a stream is reported")
    func noStreamTakesIt() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode()
            let settings = node.dispatcher(["stream": .null, "subject": "nobody.listens"])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            try await daemon.track(1...1)
            let waiting = try await daemon.dispatcher(until: "an attempt has failed") { $0["last_error"] != .null }
            #expect(waiting["last_error"] == "NATS: no stream has this subject")
        }
    }

    @Test("K4: create_stream creates a file stream with a duplicate window of an hour, and the next start keeps it")
    func createStream() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode()
            let daemon = try await scene.daemon(["dispatchers": ["collect": node.dispatcher(["create_stream": true])]])
            try await daemon.track(1...2)
            _ = try await node.messages(atLeast: 2)
            let made = try await node.ask("the stream") { try $0.stream()["config"] }
            #expect(made.contains(["subjects": ["shop.events"], "storage": "file", "duplicate_window": 3.6e12]))
            try await daemon.killNow()
            try await daemon.start()
            try await daemon.track(3...3)
            #expect(try await node.messages(atLeast: 3).map(\.id) == ["e1", "e2", "e3"])
            #expect(try await node.ask("the stream") { try $0.stream()["config"] } == made)
        }
    }

    @Test("K4: an event too large for the server is dead-lettered, and the others are delivered")
    func tooLarge() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode(["max_payload: 2048"])
            try await node.createStream()
            let daemon = try await scene.daemon(["dispatchers": ["collect": node.dispatcher()]])
            try await daemon.pause()
            try await daemon.track(1...2)
            let long = JSON.string(String(repeating: "x", count: 3000))
            _ = try await daemon.ask("track", ["event": "long", "id": "long", "data": ["text": long]])
            try await daemon.track(3...4)
            try await daemon.resume()
            let entry = try await daemon.dispatcher(until: "all are settled") {
                $0["pending"] == 0 && $0["in_flight"] == 0
            }
            #expect(entry.contains(["sent": 4, "dead": 1]))
            let deadLetter = try await daemon.ask("dead_letters.list", ["dispatcher": "collect"])["dead_letters"][0]
            #expect(deadLetter["event"]["id"] == "long")
            let said: JSON = ["reason": "too_large", "answer": "NATS: larger than the server's max_payload"]
            #expect(deadLetter.contains(said), "\(deadLetter)")
            #expect(try await node.messages(atLeast: 4).map(\.id) == ["e1", "e2", "e3", "e4"])
        }
    }

    @Test("D9: a late acknowledgement counts as no answer, and nothing is lost")
    func noAcknowledgement() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode()
            // A subscriber that is no stream receives the messages but acknowledges none.
            let listener = try await node.ask("a listener") { client in
                try client.listen(to: "shop.>")
                return client
            }
            let settings = node.dispatcher(["stream": .null, "timeout_ms": 300])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            try await daemon.track(1...2)
            let waiting = try await daemon.dispatcher(until: "an attempt has failed") { $0["last_error"] != .null }
            #expect(waiting["last_error"] == "timed out")
            listener.hangUp()
            try await node.createStream()
            #expect(try await node.messages(atLeast: 2).map(\.id) == ["e1", "e2"])
        }
    }

    @Test("S3: a change of settings takes effect without lost or duplicated events")
    func changed() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode()
            try await node.createStream()
            let daemon = try await scene.daemon(["dispatchers": ["collect": node.dispatcher()]])
            for round in 0..<5 {
                try await daemon.track(round * 20 + 1...round * 20 + 20)
                try await daemon.set(["dispatchers": ["collect": ["subject": .string("shop.r\(round)")]]])
            }
            let messages = try await node.messages(atLeast: 100)
            #expect(messages.map(\.id) == (1...100).map { "e\($0)" })
            try await daemon.track(101...101)
            #expect(try await node.messages(atLeast: 101).last?.subject == "shop.r4")
        }
    }
}
