import Testing

/// Notifications to watchers.
@Suite struct WatchNotificationTests {
    @Test("B10: a watch reports the state, and that a dispatcher is blocked, why, and that it opens")
    func dispatcherOpens() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let client = try await daemon.connect()
            let watch = try await client.watch("dispatchers", "barriers")
            let first = try await client.changed(until: "the present state") { $0["topic"] == "dispatchers" }
            #expect(first["watch"].string == watch)
            #expect(first["dispatchers"][0].contains(["id": "collect", "state": "open", "blocked_by": []]))

            try await daemon.pause("collect", ["reason": "upgrade"])
            let closed = try await client.changed("dispatchers", "collect", until: "a blocked dispatcher") {
                $0["state"] == "blocked"
            }
            #expect(closed["blocked_by"] == ["ManualBarrier:collect"])
            let barrier = try await client.changed("barriers", "ManualBarrier:collect", until: "the pause") { _ in
                true
            }
            #expect(barrier.contains(["reason": "upgrade", "states": ["collect": "closed"], "flushable": false]))

            try await daemon.resume()
            _ = try await client.changed("dispatchers", "collect", until: "an open dispatcher") {
                $0["state"] == "open" && $0["blocked_by"] == []
            }
        }
    }

    @Test("B10: a watch reports a backoff and its end")
    func waitIsReported() async throws {
        try await withScene { scene in
            let collector = try scene.collector(listening: false)
            let daemon = try await scene.daemon(sendingTo: collector, ["backoff": ["base_ms": 2_000, "cap_ms": 2_000]])
            let client = try await daemon.connect()
            _ = try await client.watch("dispatchers")
            try await daemon.track(1...1)
            _ = try await client.changed("dispatchers", "collect", until: "a blocked dispatcher") {
                $0["state"] == "blocked" && $0["blocked_by"] == ["BackoffBarrier:collect"]
            }
            try collector.listen()
            _ = try await client.changed("dispatchers", "collect", until: "the event is sent") {
                $0["state"] == "open" && $0["sent"] == 1
            }
        }
    }

    @Test("A watch reports registered and removed barriers")
    func barriersComeAndGo() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let client = try await daemon.connect()
            _ = try await client.watch("barriers")
            let owner = try await daemon.connect()
            _ = try await owner.result("barrier.register", ["id": "guest", "state": "closed"])
            _ = try await client.changed("barriers", "guest", until: "a new barrier") {
                $0["states"]["collect"] == "closed"
            }
            owner.close()
            _ = try await client.changed(until: "the barrier is removed") { $0["removed"].strings.contains("guest") }
        }
    }

    @Test("outcomes: delivered, retried and dead, by dispatcher; their sum is the counters of status")
    func outcomes() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(503), .status(200), .status(422))
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 1])
            let client = try await daemon.connect()
            _ = try await client.watch("outcomes")
            try await daemon.track(1...3)
            var sums = ["delivered": 0, "retried": 0, "dead": 0]
            _ = try await client.changed(until: "all three outcomes") { news in
                for outcome in news["outcomes"].elements where outcome["dispatcher"] == "collect" {
                    for name in sums.keys { sums[name, default: 0] += outcome[name].int ?? 0 }
                }
                return sums == ["delivered": 2, "retried": 1, "dead": 1]
            }
            #expect(try await daemon.ask("status")["counters"].contains(["delivered": 2, "retried": 1, "dead": 1]))
        }
    }

    @Test("unwatch ends one watch and no other; an unknown one is not_found")
    func unwatch() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let client = try await daemon.connect()
            let ended = try await client.watch("dispatchers")
            let other = try await client.watch("dispatchers")
            #expect(try await client.result("unwatch", ["watch": .string(ended)]) == [:])
            _ = try await client.changed(until: "the present state") { $0["watch"].string == other }

            try await daemon.pause()
            var reported: [String] = []
            _ = try await client.changed(until: "a blocked dispatcher") { news in
                if news["dispatchers"][0]["state"] == "blocked" { reported.append(news["watch"].string ?? "") }
                return news["watch"].string == other && news["dispatchers"][0]["state"] == "blocked"
            }
            #expect(reported == [other])
            let again = try await client.refusal("unwatch", ["watch": .string(ended)])
            #expect(again["data"]["reason"] == "not_found")
            let stranger = try await daemon.connect()
            let foreign = try await stranger.refusal("unwatch", ["watch": .string(other)])
            #expect(foreign["data"]["reason"] == "not_found")
        }
    }
}
