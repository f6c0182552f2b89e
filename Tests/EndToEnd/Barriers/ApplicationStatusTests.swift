import Testing

/// The ApplicationStatusBarrier and the states that clients announce, without flushes.
@Suite struct ApplicationStatusTests {
    @Test("B26: the barrier is closed in the background, and open in the foreground")
    func backgroundAndForeground() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector)
            #expect(try await daemon.dispatcher()["state"] == "open")
            let client = try await daemon.connect()
            try await announce("background", client)
            try await daemon.track(1...2)
            #expect(
                try await daemon.dispatcher()
                    .contains(["state": "blocked", "blocked_by": ["ApplicationStatusBarrier"], "pending": 2]))
            #expect(
                try await daemon.barrier("ApplicationStatusBarrier")
                    .contains(["word": "application_status", "flushable": true]))
            try await announce("foreground", client)
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["e1", "e2"])
        }
    }

    @Test("B26: one client in the foreground is enough, and a disconnected one no longer counts")
    func oneIsEnough() async throws {
        try await withScene { scene in
            let daemon = try await daemon(scene, scene.collector())
            let (one, two) = (try await daemon.connect(), try await daemon.connect())
            // A client that announces nothing does not count.
            let silent = try await daemon.connect()
            try await announce("background", one)
            #expect(try await daemon.dispatcher()["state"] == "blocked")
            try await announce("foreground", two)
            #expect(try await daemon.dispatcher()["state"] == "open")
            two.close()
            try await daemon.dispatcher(until: "no client is in the foreground") { $0["state"] == "blocked" }
            one.close()
            try await daemon.dispatcher(until: "no client is in the background") { $0["state"] == "open" }
            #expect(try await silent.result("ping") == [:])
        }
    }

    @Test("B26: with block_in_background off the barrier never closes")
    func switchedOff() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, blocks: false)
            let client = try await daemon.connect()
            try await announce("background", client)
            try await daemon.track(1...1)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
        }
    }

    @Test("An unknown status is a wrong parameter", arguments: ["asleep", 1, .null] as [JSON])
    func wrongStatus(status: JSON) async throws {
        try await withScene { scene in
            let client = try await daemon(scene, scene.collector()).connect()
            let error = try await client.refusal("application.status", ["status": status])
            #expect(error["code"] == -32_602)
            #expect(error["data"]["path"] == "status")
        }
    }

    private func announce(_ status: JSON, _ client: LineClient) async throws {
        #expect(try await client.result("application.status", ["status": status]) == [:])
    }

    private func daemon(_ scene: Scene, _ collector: Collector, blocks: Bool = true) async throws -> Daemon {
        let configuration: JSON = ["block_in_background": .bool(blocks)]
        return try await scene.daemon(
            sendingTo: collector,
            top: [
                "barriers": ["ApplicationStatusBarrier": ["scopes": ["collect"], "configuration": configuration]],
                "flush_on": ["background": false, "foreground": false, "exiting": false],
            ])
    }
}
