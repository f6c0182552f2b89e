import Testing

/// The annotation of events that a barrier held.
@Suite struct QueuedAnnotationTests {
    @Test("D13: events blocked by a barrier are annotated with it, and others are not")
    func heldAndNotHeld() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["annotate_queued": true])
            try await daemon.track(1...1, data: ["n": 1])
            try await collector.acceptedIDs(atLeast: 1)
            try await daemon.pause()
            try await daemon.track(2...2, data: ["n": 2])
            try await daemon.resume()
            try await collector.acceptedIDs(atLeast: 2)
            let sent = collector.accepted.flatMap(\.events).map(\.["data"])
            #expect(sent[0] == ["n": 1])
            #expect(sent[1].contains(["n": 2, "was_queued": "true", "queue_reason": "manual"]))
            #expect(sent[1]["network_connection_type"].string?.isEmpty == false)
        }
    }

    @Test(
        "D13, B10: the annotation has the names of all barriers that held the event, and for a client's barrier its id")
    func allReasons() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(
                sendingTo: collector, ["annotate_queued": true], top: FlushTests.batching)
            let owner = try await daemon.connect()
            _ = try await owner.result("barrier.register", ["id": "maintenance", "state": "closed"])
            try await daemon.pause("collect", ["flushable": true])
            try await daemon.track(1...1)
            _ = try await daemon.ask("flush", ["wait": true])
            let data = try #require(collector.accepted.first?.events.first)["data"]
            let words = Set(data["queue_reason"].string?.split(separator: ",").map(String.init) ?? [])
            #expect(words == ["maintenance", "manual", "batching"])
        }
    }

    @Test("D13: annotate_queued is on by default, and off leaves events unchanged", arguments: [false, true])
    func switchedOff(isDefault: Bool) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon([
                "dispatchers": [
                    "collect": isDefault
                        ? ["kind": "http", "endpoint": .string(collector.endpoint)]
                        : collector.dispatcher(["annotate_queued": false])
                ]
            ])
            try await daemon.pause()
            try await daemon.track(1...1, data: ["n": 1])
            try await daemon.resume()
            try await collector.acceptedIDs(atLeast: 1)
            let data = collector.accepted[0].events[0]["data"]
            #expect(data["was_queued"] == (isDefault ? "true" : .null))
            #expect((data == ["n": 1]) == !isDefault)
        }
    }
}
