import Testing

/// Load rules, which select the dispatchers of an event.
@Suite struct LoadRuleTests {
    static let notDebug: JSON = ["not": ["operator": "equals", "path": "event", "value": "debug"]]
    static let onlyDebug: JSON = ["operator": "equals", "path": "event", "value": "debug"]

    @Test("P3: a dispatcher gets the events that its load rule matches, and others get all")
    func onePerDispatcher() async throws {
        try await withScene { scene in
            let (ruled, free) = (try scene.collector(), try scene.collector())
            let daemon = try await scene.daemon([
                "dispatchers": ["ruled": ruled.dispatcher(["load_rule": "not_debug"]), "free": free.dispatcher()],
                "load_rules": ["not_debug": Self.notDebug],
            ])
            try await track(daemon, ["debug", "signup", "debug", "purchase"])
            #expect(try await free.acceptedIDs(atLeast: 4) == ["debug-0", "signup-1", "debug-2", "purchase-3"])
            #expect(try await ruled.acceptedIDs(atLeast: 2) == ["signup-1", "purchase-3"])
            let settled = try await daemon.dispatcher("ruled", until: "both are settled") { $0["sent"].int == 2 }
            #expect(settled.contains(["pending": 0, "in_flight": 0]))
            #expect(try await daemon.counter("unrouted") == 0)
        }
    }

    @Test("P3: an event that no load rule matches is unrouted and not stored")
    func unrouted() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(
                sendingTo: collector, ["load_rule": "not_debug"], top: ["load_rules": ["not_debug": Self.notDebug]])
            try await daemon.pause()
            let answer = try await daemon.ask("track", ["event": "debug", "id": "d-1"])
            #expect(answer == ["id": "d-1", "unrouted": true])
            let status = try await daemon.ask("status")
            #expect(status["counters"].contains(["received": 1, "unrouted": 1]))
            #expect(status["store"]["events"] == 0)
            try await daemon.track(1...1)
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
        }
    }

    @Test("P3, S3: a rule changed by a reload applies only to later events")
    func changedByReload() async throws {
        try await withScene { scene in
            let (ruled, free) = (try scene.collector(), try scene.collector())
            let configuration = { (rule: JSON) -> JSON in
                [
                    "dispatchers": ["ruled": ruled.dispatcher(["load_rule": "wanted"]), "free": free.dispatcher()],
                    "load_rules": ["wanted": rule],
                ]
            }
            let daemon = try await scene.daemon(configuration(Self.notDebug))
            try await daemon.pause("ruled")
            try await track(daemon, ["debug", "signup"])
            #expect(
                try await daemon.reload(configuration(Self.onlyDebug)).allSatisfy { $0.hasPrefix("load_rules.wanted") })
            #expect(try await daemon.dispatcher("ruled")["pending"] == 1)
            try await track(daemon, ["debug", "signup"], from: 2)
            try await daemon.resume("ruled")
            #expect(try await ruled.acceptedIDs(atLeast: 2) == ["signup-1", "debug-2"])
            #expect(try await free.acceptedIDs(atLeast: 4).count == 4)
        }
    }

    @Test("P3: routing decisions survive SIGKILL")
    func decidedOnce() async throws {
        try await withScene { scene in
            let (ruled, free) = (try scene.collector(), try scene.collector())
            let daemon = try await scene.daemon([
                "dispatchers": ["ruled": ruled.dispatcher(["load_rule": Self.notDebug]), "free": free.dispatcher()]
            ])
            try await daemon.pause("ruled")
            try await track(daemon, ["debug", "signup", "debug", "login"])
            try await daemon.killNow()
            try await daemon.start()
            #expect(try await daemon.dispatcher("ruled")["pending"] == 2)
            try await daemon.resume("ruled")
            #expect(try await ruled.acceptedIDs(atLeast: 2) == ["signup-1", "login-3"])
        }
    }

    private func track(_ daemon: Daemon, _ names: [String], from first: Int = 0) async throws {
        let client = try await daemon.connect()
        for (index, name) in names.enumerated() {
            _ = try await client.result("track", ["event": .string(name), "id": "\(name)-\(first + index)"])
        }
    }
}
