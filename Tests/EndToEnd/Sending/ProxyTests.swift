import Testing

/// A proxy between the daemon and its collector, set in the environment.
@Suite struct ProxyTests {
    @Test(
        "D5, D9: a refusing proxy is reported with its status, its Retry-After applies, and nothing is charged",
        arguments: [407, 403, 503])
    func refuses(status: Int) async throws {
        try await withScene { scene in
            let proxy = try scene.collector()
            proxy.answerAlways(ScriptedAnswer(status: status, headers: ["Retry-After: 600"]))
            let daemon = try await daemon(scene, behind: proxy, ["https_proxy": "http://127.0.0.1:\(proxy.port)"])
            try await daemon.track(1...1)
            let waiting = try await daemon.dispatcher(until: "a blocked dispatcher") { $0["state"] == "blocked" }
            #expect(waiting.contains(["last_error": .string("proxy: HTTP \(status)"), "pending": 1, "dead": 0]))
            _ = try await daemon.ask("dispatcher.retry", ["id": "collect"])
            try await proxy.requests(atLeast: 2)
            #expect(proxy.requests.allSatisfy { $0.method == "CONNECT" && $0.target == "collector.invalid:443" })
            #expect(try await daemon.dispatcher(until: "another failure") { $0["failed"].int == 2 }["dead"] == 0)
        }
    }

    @Test(
        "no_proxy works as in curl",
        arguments: [["no_proxy": "*"], ["no_proxy": "", "NO_PROXY": "collector.invalid"], ["NO_PROXY": "*"]])
    func exceptions(environment: [String: String]) async throws {
        try await withScene { scene in
            let proxy = try scene.collector()
            let proxied = ["https_proxy": "http://127.0.0.1:\(proxy.port)"]
            let daemon = try await daemon(scene, behind: proxy, proxied.merging(environment) { $1 })
            try await daemon.track(1...1)
            let failed = try await daemon.dispatcher(until: "a failed attempt") { $0["failed"].int != 0 }
            #expect(failed["last_error"] == "could not resolve host")
            #expect(proxy.requests.isEmpty)
        }
    }

    /// Starts a daemon that sends to a nonexistent host, independent of the machine's network.
    private func daemon(
        _ scene: Scene, behind proxy: Collector, _ environment: [String: String]
    ) async throws -> Daemon {
        let daemon = scene.idleDaemon()
        daemon.environment = environment
        let settings = proxy.dispatcher(["endpoint": "https://collector.invalid/events", "max_attempts": 1])
        try daemon.configure([
            "dispatchers": ["collect": settings], "barriers": ["ConnectivityBarrier": ["scopes": []]],
        ])
        try await daemon.start()
        return daemon
    }
}
