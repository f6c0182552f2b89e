import Testing

/// Transformations that cannot be done on some events.
@Suite struct FailedTransformationTests {
    /// Data in which `user` is a string, so that `set` cannot set a member of it.
    private static let wrong: JSON = ["user": "x", "mail": "a@b.c", "ip": "10.0.0.1"]
    private static let right: JSON = ["user": ["id": 7], "mail": "a@b.c", "ip": "10.0.0.1"]
    /// The digest of `10.0.0.1`.
    private static let digest: JSON = "f5047344122f0dee9974ba6761e61c6b8649e1f3968d13a635ebbf7be53a3a0d"

    private static func masking(_ more: JSON = [:]) -> JSON {
        let edits: JSON = [
            "id": "mask", "scopes": "allDispatchers", "set": ["data.user.seen": true], "remove": ["data.mail"],
            "hash": ["data.ip"],
        ]
        return ["transformations": .array([edits.merging(more)])]
    }

    @Test("P4: with `on_error: drop` an event whose transformation failed is a dead letter, the others are delivered")
    func drop() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: Self.masking(["on_error": "drop"]))
            try await daemon.track(1...1, data: Self.wrong)
            try await daemon.track(2...2, data: Self.right)
            try await daemon.dispatcher(until: "both are settled") { $0["sent"].int == 1 && $0["dead"].int == 1 }
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e2"])
            #expect(collector.requests.count == 1)
            let deadLetters = try await daemon.ask("dead_letters.list")["dead_letters"].elements
            #expect(deadLetters.count == 1)
            #expect(
                deadLetters[0].contains([
                    "dispatcher": "collect", "reason": "transformation", "attempts": 0, "status": .null,
                    "answer": "transformation mask failed", "event": ["id": "e1"],
                ]))
            #expect(
                try await daemon.ask("event.trace", ["id": "e1"])["events"][0]["dispatchers"]["collect"]["state"]
                    == "dead")

            // Without the edit that fails, the event is transformed and delivered.
            try await daemon.set([
                "transformations": .array([["id": "mask", "scopes": "allDispatchers", "remove": ["data.mail"]]])
            ])
            #expect(try await daemon.ask("dead_letters.requeue") == ["count": 1])
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["e2", "e1"])
            #expect(collector.accepted[1].events[0]["data"] == ["user": "x", "ip": "10.0.0.1"])
        }
    }

    @Test("P4: with `on_error: drop` an event that failed before it was stored is a dead letter of each dispatcher")
    func dropBeforeTheStore() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let early = Self.masking(["on_error": "drop", "scopes": "afterCollectors"])
            let daemon = try await scene.daemon(sendingTo: collector, top: early)
            try await daemon.track(1...1, data: Self.wrong)
            try await daemon.track(2...2, data: Self.right)
            try await daemon.dispatcher(until: "both are settled") { $0["sent"].int == 1 && $0["dead"].int == 1 }
            let deadLetter = try await daemon.ask("dead_letters.list")["dead_letters"][0]
            #expect(deadLetter.contains(["reason": "transformation", "event": ["id": "e1"]]))
            #expect(deadLetter["event"]["context"]["failed_transformation"] == "mask")
            #expect(deadLetter["event"]["data"]["mail"] == .null, "a member that `remove` names is not stored")
        }
    }

    @Test("P4, O4: `remove` and `hash` apply although another edit fails, and the log reports the failures in bursts")
    func removedAllTheSame() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: Self.masking(["on_error": "send"]))
            try await daemon.track(1...50, data: Self.wrong)
            try await collector.acceptedIDs(atLeast: 50)
            let sent = collector.accepted.flatMap(\.events).map { $0["data"] }
            #expect(sent.allSatisfy { $0 == ["user": "x", "ip": Self.digest] })
            #expect(try await daemon.counter("transformation_errors") == 50)
            #expect(try await daemon.stop() == 0)
            let lines = daemon.log.split(separator: "\n").filter { $0.contains("transformations.mask: ") }
            // A busy machine may need longer than the duration of a burst, and then writes more than two lines.
            #expect((2..<50).contains(lines.count) && lines[0].contains("error: "), "\(daemon.log)")
            #expect(lines.last?.contains("times") == true)
        }
    }
}
