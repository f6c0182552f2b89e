import Testing

/// Barriers that clients register over the socket.
@Suite struct RemoteBarrierTests {
    @Test("B29: a client's barrier blocks, shows its reason, lets a flush pass, and ends with its owner")
    func life() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let owner = try await owner(of: ["id": "window", "scopes": ["collect"], "state": "closed"], daemon)
            _ = try await owner.result("barrier.set", ["id": "window", "reason": "backup until noon"])
            try await daemon.track(1...2)
            let dispatcher = try await daemon.dispatcher()
            #expect(dispatcher.contains(["state": "blocked", "blocked_by": ["window"], "pending": 2]))
            let shown = try await daemon.barrier("window")
            #expect(shown.contains(["word": "window", "reason": "backup until noon", "scopes": ["collect"]]))
            #expect(shown.contains(["states": ["collect": "closed"], "flushable": true]))
            #expect(shown["owner"].string?.isEmpty == false)

            #expect(try await daemon.ask("flush", ["wait": true])["ended"] == "settled")
            #expect(collector.acceptedIDs == ["e1", "e2"])
            try await daemon.track(3...3)
            #expect(try await daemon.dispatcher().contains(["state": "blocked", "pending": 1]))

            owner.close()
            #expect(try await collector.acceptedIDs(atLeast: 3) == ["e1", "e2", "e3"])
            let left = try await daemon.ask("barrier.list")["barriers"].elements.map(\.["id"])
            #expect(!left.contains("window"))
        }
    }

    @Test("B2: a barrier that is not flushable blocks a flush until it becomes flushable")
    func firm() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let owner = try await owner(of: ["id": "firm", "state": "closed", "flushable": false], daemon)
            try await daemon.track(1...1)
            let client = try await daemon.connect()
            let short = try await client.result("flush", ["wait": true, "timeout_ms": 100])
            #expect(short["dispatchers"]["collect"].contains(["left": 1, "blocked_by": ["firm"]]))
            let flush = try await client.request("flush", ["wait": true])
            try await daemon.dispatcher(until: "a flush in progress") { $0["flushing"] == true }
            _ = try await owner.result("barrier.set", ["id": "firm", "flushable": true])
            #expect(try await client.answer(to: flush)["result"]["ended"] == "settled")
            #expect(collector.acceptedIDs == ["e1"])
            #expect(try await daemon.barrier("firm")["states"]["collect"] == "closed")
        }
    }

    @Test("B29: the state may be set for one dispatcher only")
    func oneDispatcher() async throws {
        try await withScene { scene in
            let (one, two) = (try scene.collector(), try scene.collector())
            let daemon = try await scene.daemon(["dispatchers": ["one": one.dispatcher(), "two": two.dispatcher()]])
            let owner = try await owner(of: ["id": "half", "scopes": ["all"], "state": "closed"], daemon)
            try await daemon.track(1...1)
            _ = try await owner.result("barrier.set", ["id": "half", "state": "open", "dispatcher": "two"])
            #expect(try await two.acceptedIDs(atLeast: 1) == ["e1"])
            #expect(try await daemon.barrier("half")["states"] == ["one": "closed", "two": "open"])
            let error = try await owner.refusal("barrier.set", ["id": "half", "state": "open", "dispatcher": "three"])
            #expect(error["data"]["reason"] == "not_found")
            _ = try await owner.result("barrier.set", ["id": "half", "state": "open"])
            #expect(try await one.acceptedIDs(atLeast: 1) == ["e1"])
        }
    }

    @Test("B8: registering a barrier again replaces its scopes")
    func newScopes() async throws {
        try await withScene { scene in
            let (one, two) = (try scene.collector(), try scene.collector())
            let daemon = try await scene.daemon(["dispatchers": ["one": one.dispatcher(), "two": two.dispatcher()]])
            let owner = try await owner(of: ["id": "moves", "scopes": ["one"], "state": "closed"], daemon)
            try await daemon.track(1...1)
            try await two.acceptedIDs(atLeast: 1)
            _ = try await owner.result("barrier.register", ["id": "moves", "scopes": ["two"], "state": "closed"])
            #expect(try await one.acceptedIDs(atLeast: 1) == ["e1"])
            #expect(try await daemon.dispatcher("two")["blocked_by"] == ["moves"])
        }
    }

    @Test("B29: only the owner may change a barrier, and an operator may remove it with force")
    func ownership() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let owner = try await owner(of: ["id": "mine", "state": "closed"], daemon)
            let other = try await daemon.connect()
            let attempts: [(String, JSON)] = [
                ("barrier.register", ["id": "mine", "state": "open"]),
                ("barrier.set", ["id": "mine", "state": "open"]),
                ("barrier.unregister", ["id": "mine"]),
            ]
            for (method, params) in attempts {
                #expect(try await other.refusal(method, params)["data"]["reason"] == "conflict", "\(method)")
            }
            #expect(try await daemon.dispatcher()["state"] == "blocked")
            #expect(try await other.result("barrier.unregister", ["id": "mine", "force": true]) == [:])
            #expect(try await daemon.dispatcher()["state"] == "open")
            let error = try await owner.refusal("barrier.unregister", ["id": "mine"])
            #expect(error["data"]["reason"] == "not_found")
        }
    }

    @Test("B8: a configured barrier cannot be unregistered, registered or set, and an unknown one is not_found")
    func configuredBarrier() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector(), top: FlushTests.batching)
            let client = try await daemon.connect()
            for id in ["BatchingBarrier", "ManualBarrier:collect", "BackoffBarrier:collect"] {
                let params: JSON = ["id": .string(id), "force": true, "state": "open"]
                for method in ["barrier.unregister", "barrier.register", "barrier.set"] {
                    #expect(try await client.refusal(method, params)["data"]["reason"] == "conflict", "\(method) \(id)")
                }
            }
            #expect(try await client.refusal("barrier.unregister", ["id": "x"])["data"]["reason"] == "not_found")
            #expect(
                try await client.refusal("barrier.set", ["id": "x", "state": "open"])["data"]["reason"] == "not_found")
        }
    }

    @Test("B29: on_disconnect determines the state without the owner", arguments: ["open", "close", "keep"])
    func onDisconnect(what: String) async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let (before, after) = what == "close" ? ("open", "closed") : ("closed", what == "open" ? "open" : "closed")
            let owner = try await owner(
                of: ["id": "stays", "state": .string(before), "on_disconnect": .string(what)], daemon)
            #expect(try await daemon.barrier("stays")["states"]["collect"].string == before)
            owner.close()
            try await daemon.barrier("stays", until: "the barrier has no owner") { $0["owner"] == .null }
            #expect(try await daemon.barrier("stays")["states"]["collect"].string == after)

            let heir = try await daemon.connect()
            #expect(
                try await heir.refusal("barrier.set", ["id": "stays", "state": "open"])["data"]["reason"] == "conflict")
            _ = try await heir.result("barrier.register", ["id": "stays", "state": "open"])
            #expect(try await daemon.barrier("stays")["owner"] != .null)
            #expect(try await daemon.dispatcher()["state"] == "open")
        }
    }

    @Test(
        "B29: a kept closed barrier is restored after a kill before anything is sent",
        arguments: ["close", "keep"])
    func survivesKill(what: String) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let owner = try await owner(
                of: ["id": "consent", "state": "closed", "flushable": false, "on_disconnect": .string(what)], daemon)
            try await daemon.track(1...3)
            try await daemon.killNow()
            owner.close()
            try await daemon.start()
            #expect(try await daemon.dispatcher()["blocked_by"] == ["consent"])
            #expect(try await daemon.barrier("consent")["owner"] == .null)
            #expect(collector.requests.isEmpty)
            let heir = try await daemon.connect()
            _ = try await heir.result("barrier.register", ["id": "consent", "state": "open"])
            #expect(try await collector.acceptedIDs(atLeast: 3) == ["e1", "e2", "e3"])
        }
    }

    @Test("B4: a scope with an unknown dispatcher is kept and reported as a warning")
    func unknownScope() async throws {
        try await withScene { scene in
            let (one, later) = (try scene.collector(), try scene.collector())
            let daemon = try await scene.daemon(["dispatchers": ["one": one.dispatcher()]])
            let owner = try await owner(of: ["id": "early", "scopes": "later", "state": "closed"], daemon)
            #expect(try await daemon.warnings().contains { $0.contains("early") && $0.contains("later") })
            try await daemon.reload(["dispatchers": ["one": one.dispatcher(), "later": later.dispatcher()]])
            #expect(try await daemon.dispatcher("later")["blocked_by"] == ["early"])
            #expect(try await daemon.warnings().isEmpty)
            #expect(try await owner.result("ping") == [:])
        }
    }

    private func owner(of barrier: JSON, _ daemon: Daemon) async throws -> LineClient {
        let client = try await daemon.connect()
        #expect(try await client.result("barrier.register", barrier) == [:])
        return client
    }
}
