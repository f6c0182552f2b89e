import Testing

/// Events with an id that was used before.
@Suite struct DuplicateTests {
    @Test("Q7: a repeated id is acknowledged as a duplicate with its first seq, and stored once")
    func sameIDTwice() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.pause()
            let first = try await daemon.ask("track", ["event": "order", "id": "o-1", "data": ["n": 1]])
            let second = try await daemon.ask("track", ["event": "order", "id": "o-1", "data": ["n": 2]])
            #expect(first["duplicate"] == .null)
            #expect(second == ["id": "o-1", "seq": first["seq"], "duplicate": true])
            #expect(try await daemon.dispatcher()["pending"] == 1)
            #expect(try await daemon.ask("status")["counters"]["duplicates"] == 1)

            try await daemon.resume()
            try await collector.acceptedIDs(atLeast: 1)
            try await daemon.dispatcher(until: "an empty queue") { $0["pending"].int == 0 && $0["in_flight"].int == 0 }
            #expect(collector.accepted.flatMap(\.events).map(\.["data"]) == [["n": 1]])
        }
    }

    @Test("Q7: after SIGKILL a repeated id is a duplicate with its first seq")
    func sameIDAfterKill() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.pause()
            let first = try await daemon.ask("track", ["event": "order", "id": "o-1"])
            try await daemon.killNow()
            try await daemon.start()
            let again = try await daemon.ask("track", ["event": "order", "id": "o-1"])
            #expect(again == ["id": "o-1", "seq": first["seq"], "duplicate": true])
            #expect(try await daemon.dispatcher()["pending"] == 1)
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["o-1"])
            try await daemon.dispatcher(until: "an empty queue") { $0["sent"].int == 1 && $0["pending"].int == 0 }
        }
    }

    @Test("Q7: an id is remembered after its delivery and a restart")
    func sameIDAfterDelivery() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let first = try await daemon.ask("track", ["event": "order", "id": "o-1"])
            try await daemon.dispatcher(until: "the event is settled") { $0["sent"].int == 1 }
            #expect(try await daemon.stop() == 0)
            try await daemon.start()
            let again = try await daemon.ask("track", ["event": "order", "id": "o-1"])
            #expect(again == ["id": "o-1", "seq": first["seq"], "duplicate": true])
            try await daemon.track(1...1)
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["o-1", "e1"])
        }
    }

    @Test("Q7: ids in different namespaces are independent")
    func namespacesAreApart() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            for namespace in ["shop", "till"] {
                let client = try await daemon.connect()
                let hello: JSON = ["client": ["name": "t", "version": "1"], "namespace": .string(namespace)]
                _ = try await client.result("hello", hello)
                #expect(try await client.result("track", ["event": "x", "id": "1"])["duplicate"] == .null)
                #expect(try await client.result("track", ["event": "x", "id": "1"])["duplicate"] == true)
            }
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["1", "1"])
        }
    }

    @Test("Q7: a repeat within one track_many is stored once and counted")
    func repeatWithinOneRequest() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let events: JSON = [["event": "x", "id": "1"], ["event": "x", "id": "2"], ["event": "x", "id": "1"]]
            let answer = try await daemon.ask("track_many", ["events": events])
            #expect(answer.contains(["ids": ["1", "2", "1"], "duplicates": 1, "unrouted": 0]))
            try await daemon.dispatcher(until: "both are settled") { $0["sent"].int == 2 }
            #expect(collector.acceptedIDs == ["1", "2"])
        }
    }
}
