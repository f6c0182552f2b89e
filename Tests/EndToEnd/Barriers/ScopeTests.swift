import Testing

/// The scopes of configured barriers.
@Suite struct ScopeTests {
    @Test("B4: a scope with an unknown dispatcher is a warning, and applies when the dispatcher appears")
    func unknownDispatcher() async throws {
        try await withScene { scene in
            let (one, later) = (try scene.collector(), try scene.collector())
            let daemon = try await scene.daemon(configuration(["one": one.dispatcher()], scopes: ["later"]))
            #expect(try await daemon.warnings().contains { $0.contains("`later`") })
            #expect(try await daemon.barrier("BatchingBarrier").contains(["scopes": ["later"], "states": [:]]))

            try await daemon.reload(
                configuration(["one": one.dispatcher(), "later": later.dispatcher()], scopes: ["later"]))
            #expect(try await daemon.warnings().isEmpty)
            try await daemon.track(1...2)
            #expect(try await one.acceptedIDs(atLeast: 2) == ["e1", "e2"])
            #expect(
                try await daemon.dispatcher("later")
                    .contains(["state": "blocked", "blocked_by": ["BatchingBarrier"], "pending": 2]))
        }
    }

    @Test("B4: a bare string is one scope")
    func bareString() async throws {
        try await withScene { scene in
            let (one, two) = (try scene.collector(), try scene.collector())
            let both: JSON = ["one": one.dispatcher(), "two": two.dispatcher()]
            let daemon = try await scene.daemon(configuration(both, scopes: "two"))
            try await daemon.track(1...1)
            #expect(try await one.acceptedIDs(atLeast: 1) == ["e1"])
            #expect(try await daemon.dispatcher("two")["blocked_by"] == ["BatchingBarrier"])
            #expect(try await daemon.barrier("BatchingBarrier")["scopes"] == ["two"])
        }
    }

    @Test("B4: empty scopes disable a barrier, and its held events are sent")
    func switchedOff() async throws {
        try await withScene { scene in
            let (one, two) = (try scene.collector(), try scene.collector())
            let both: JSON = ["one": one.dispatcher(), "two": two.dispatcher()]
            let daemon = try await scene.daemon(configuration(both, scopes: ["all"]))
            let ids = try await daemon.track(1...3)
            for id in ["one", "two"] { #expect(try await daemon.dispatcher(id)["pending"] == 3) }
            try await daemon.reload(configuration(both, scopes: []))
            #expect(try await one.acceptedIDs(atLeast: 3) == ids)
            #expect(try await two.acceptedIDs(atLeast: 3) == ids)
            #expect(try await daemon.warnings().isEmpty)
        }
    }

    @Test("B7: a barrier without its settings no longer blocks")
    func disappears() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(
                configuration(["collect": collector.dispatcher()], scopes: ["collect"]))
            try await daemon.track(1...1)
            #expect(try await daemon.dispatcher()["state"] == "blocked")
            try await daemon.reload(["dispatchers": ["collect": collector.dispatcher()], "flush_on": ["start": false]])
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
        }
    }

    @Test("The kind of an entry may differ from its name, so that two of one kind can exist")
    func twoOfOneKind() async throws {
        try await withScene { scene in
            let (one, two) = (try scene.collector(), try scene.collector())
            let entry = { (scope: JSON, size: JSON) -> JSON in
                ["kind": "BatchingBarrier", "scopes": [scope], "configuration": ["batch_size": size]]
            }
            let daemon = try await scene.daemon([
                "dispatchers": ["one": one.dispatcher(), "two": two.dispatcher()],
                "barriers": ["small": entry("one", 2), "large": entry("two", 3)], "flush_on": ["start": false],
            ])
            try await daemon.track(1...2)
            #expect(try await one.acceptedIDs(atLeast: 2) == ["e1", "e2"])
            #expect(try await daemon.dispatcher("two").contains(["blocked_by": ["large"], "pending": 2]))
            #expect(try await daemon.barrier("large").contains(["kind": "BatchingBarrier", "word": "batching"]))
        }
    }

    private func configuration(_ dispatchers: JSON, scopes: JSON) -> JSON {
        [
            "dispatchers": dispatchers, "flush_on": ["start": false],
            "barriers": [
                "BatchingBarrier": [
                    "barrier_id": "BatchingBarrier", "scopes": scopes, "configuration": ["batch_size": 9],
                ]
            ],
        ]
    }
}
