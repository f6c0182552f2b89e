import Testing

/// The effect of `config.set` and its duration.
@Suite struct ProgrammaticLayerTests {
    @Test("S1: config.set has precedence over the file, applies at once, and null removes a value")
    func setAndTakenAway() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 4])
            try await daemon.set(["dispatchers": ["collect": ["dispatch_limit": 2]]])
            #expect(try await batches(daemon, collector) == [2, 2, 2])
            // The endpoint still comes from the file: objects are merged.
            #expect(try await limits(daemon) == [2, 4, 2])
            // A reload of the file does not change the programmatic layer.
            try await daemon.reload(["dispatchers": ["collect": collector.dispatcher(["dispatch_limit": 5])]])
            #expect(try await limits(daemon) == [2, 5, 2])

            try await daemon.set(["dispatchers": ["collect": ["dispatch_limit": .null]]])
            #expect(try await limits(daemon)[0] == 5)
            #expect(try await batches(daemon, collector, from: 7) == [5, 1])
        }
    }

    @Test("S1: settings with persist survive SIGKILL, and others do not")
    func persisted() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 9])
            try await daemon.set(["dispatchers": ["collect": ["dispatch_limit": 3]]], persist: true)
            try await daemon.set(["dispatchers": ["collect": ["byte_limit": 12_345]]])
            try await daemon.killNow()
            try await daemon.start()
            #expect(try await batches(daemon, collector) == [3, 3])
            let collect = try await daemon.ask("config.get", ["layer": "programmatic"])["dispatchers"]["collect"]
            #expect(collect == ["dispatch_limit": 3])

            // The removal is persisted as well.
            try await daemon.set(["dispatchers": ["collect": ["dispatch_limit": .null]]], persist: true)
            try await daemon.killNow()
            try await daemon.start()
            #expect(try await batches(daemon, collector, from: 7) == [6])
        }
    }

    @Test("S1, B7: a persisted barrier is in force after a restart")
    func persistedBarrier() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: ["flush_on": ["start": false]])
            let barrier = FlushTests.batching["barriers"]
            try await daemon.set(["barriers": barrier], persist: true)
            try await daemon.track(1...2)
            try await daemon.killNow()
            try await daemon.start()
            let held = try await daemon.dispatcher()
            #expect(held.contains(["state": "blocked", "pending": 2, "blocked_by": ["BatchingBarrier"]]))
            try await daemon.set(["barriers": ["BatchingBarrier": ["configuration": ["batch_size": 2]]]])
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["e1", "e2"])
        }
    }

    @Test(
        "S1: persisted settings apply before the store is opened, and an invalid part does not affect the others"
    )
    func readBeforeTheStore() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.goDown()
            let settings: JSON = [
                "dispatchers": ["collect": collector.dispatcher()], "store": ["orphan_retention_s": 0],
            ]
            let daemon = try await scene.daemon(settings)
            let late: JSON = ["kind": "file", "path": "late.ndjson"]
            try await daemon.set(["dispatchers": ["late": late]])
            try await daemon.pause("late")
            try await daemon.track(1...5)
            try await daemon.set(["store": ["orphan_retention_s": 86_400]], persist: true)
            try await daemon.set(["dispatchers": ["collect": ["dispatch_limit": 3]]], persist: true)
            try await daemon.set(["durability": "normal"], persist: true)
            #expect(try await daemon.ask("status")["store"]["durability"] == "full")
            #expect(try await daemon.warnings().contains("durability: takes effect at the next start"))
            try await daemon.killNow()
            // The file no longer has the dispatcher, so the persisted settings of that dispatcher are ignored.
            try daemon.configure(["dispatchers": ["other": collector.dispatcher()], "store": ["orphan_retention_s": 0]])
            try await daemon.start()
            let status = try await daemon.ask("status")
            #expect(status["store"]["durability"] == "normal")
            let warnings = status["warnings"].strings
            #expect(
                warnings.contains {
                    $0.hasPrefix("dispatchers.collect: this part of the settings persisted with config.set is ignored")
                })
            #expect(!warnings.contains { $0.contains("next start") })
            #expect(
                daemon.log.contains(
                    "dispatchers.collect: this part of the settings persisted with config.set is ignored"))
            #expect(status["orphans"].elements.map { $0["id"].string } == ["collect", "late"])
            #expect(status["orphans"].elements.map { $0["events"].int } == [5, 5])
            // The persisted settings apply again as soon as they are valid.
            _ = try await daemon.reload(settings)
            #expect(try await daemon.ask("config.get")["dispatchers"]["collect"]["dispatch_limit"] == 3)
            let back = try await daemon.dispatcher()
            #expect((back["pending"].int ?? 0) + (back["in_flight"].int ?? 0) == 5)
        }
    }

    /// Returns the sizes of the batches for six events.
    private func batches(_ daemon: Daemon, _ collector: Collector, from first: Int = 1) async throws -> [Int] {
        let before = collector.requests.count
        try await daemon.pause()
        try await daemon.track(first...first + 5)
        try await daemon.resume()
        try await collector.acceptedIDs(atLeast: first + 5)
        return collector.requests[before...].map(\.ids.count)
    }

    /// Returns the dispatch limit in force, in the file, and in the programmatic layer.
    private func limits(_ daemon: Daemon) async throws -> [Int?] {
        let layers: [JSON] = [[:], ["layer": "file"], ["layer": "programmatic"]]
        var limits: [Int?] = []
        for layer in layers {
            let settings = try await daemon.ask("config.get", layer)
            limits.append(settings["dispatchers"]["collect"]["dispatch_limit"].int)
        }
        return limits
    }
}
