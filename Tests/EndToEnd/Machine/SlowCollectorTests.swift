import Testing

/// Collectors and host names that could make a daemon wait forever.
@Suite struct SlowCollectorTests {
    @Test("D3: a collector that answers byte by byte times out at timeout_ms, uncharged, without delaying others")
    func answersSlowly() async throws {
        try await withScene { scene in
            let (slow, quick) = (try scene.collector(), try scene.collector())
            slow.answerAlways(ScriptedAnswer(pace: .milliseconds(100)))
            try await expectPatience(scene, slow, quick, data: [:]) { slow.answerAlways(.accepted) }
            #expect(slow.accepted.flatMap(\.events).allSatisfy { $0["attempt"] == 1 })
        }
    }

    @Test("D3: a collector that reads byte by byte times out at timeout_ms, uncharged, without delaying others")
    func readsSlowly() async throws {
        try await withScene { scene in
            let (slow, quick) = (try scene.collector(), try scene.collector())
            slow.read(atPace: .milliseconds(100))
            // More than the socket buffers hold.
            let data: JSON = ["text": .string(String(repeating: "x", count: 900_000))]
            try await expectPatience(scene, slow, quick, data: data) { slow.read(atPace: nil) }
            #expect(slow.accepted.flatMap(\.events).allSatisfy { $0["attempt"] == 1 })
        }
    }

    /// Checks that batches for a slow collector are retried until it becomes fast, while the other collector is served.
    private func expectPatience(
        _ scene: Scene, _ slow: Collector, _ quick: Collector, data: JSON, getQuick: () -> Void
    ) async throws {
        let daemon = try await scene.daemon([
            "dispatchers": [
                "collect": slow.dispatcher(["timeout_ms": 400, "byte_limit": 20_000_000]),
                "other": quick.dispatcher(["byte_limit": 20_000_000]),
            ]
        ])
        try await daemon.pause()
        let ids = try await daemon.track(1...12, data: data)
        try await daemon.resume()
        let waiting = try await daemon.dispatcher(until: "two failed attempts") { ($0["failed"].int ?? 0) >= 2 }
        #expect(waiting.contains(["last_error": "timed out", "sent": 0, "dead": 0]))
        #expect(try await quick.acceptedIDs(atLeast: 12) == ids)
        getQuick()
        try await daemon.dispatcher(until: "all is sent") { $0["sent"].int == 12 }
        #expect(slow.acceptedIDs.suffix(12) == ids[...])
    }

    @Test("D3, D11: a hanging name lookup delays neither the loop, nor another dispatcher, nor a stop")
    func resolverHangs() async throws {
        try await withScene { scene in
            let fault = try await MachineFault.hangingResolver(in: scene.directory.path)
            let (lost, quick) = (try scene.collector(), try scene.collector())
            let endpoint = JSON.string("http://\(MachineFault.hostName):\(lost.port)/")
            let daemon = scene.idleDaemon()
            daemon.environment = fault.environment
            try daemon.configure([
                "dispatchers": [
                    "collect": lost.dispatcher(["endpoint": endpoint, "connect_timeout_ms": 200]),
                    "other": quick.dispatcher(),
                ],
                // The test must not depend on the network of this machine.
                "barriers": ["ConnectivityBarrier": ["scopes": []]],
            ])
            try fault.set(true)
            try await daemon.start()
            let ids = try await daemon.track(1...3)
            let waiting = try await daemon.dispatcher(until: "two failed attempts") { ($0["failed"].int ?? 0) >= 2 }
            #expect(waiting.contains(["last_error": "timed out", "sent": 0, "dead": 0]))
            #expect(try await quick.acceptedIDs(atLeast: 3) == ids)
            #expect(try await daemon.stop() == 0)

            try fault.set(false)
            try await daemon.start()
            #expect(try await lost.acceptedIDs(atLeast: 3) == ids)
        }
    }
}
