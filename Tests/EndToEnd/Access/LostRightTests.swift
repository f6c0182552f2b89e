import Testing

/// X1: the end of a client's watches, barriers and subscriptions when the settings remove its right.
@Suite(.asOtherUsers) struct LostRightTests {
    private static let person = Person(uid: 45_001, gid: 45_001, groups: [AccessTests.daemonGroup])

    /// A call after which the client holds a watch, a barrier, a subscription or a board.
    struct Holding: Sendable, CustomTestStringConvertible {
        var right: String
        var method: String
        var params: JSON = [:]

        var testDescription: String { method }
    }

    static let holdings = [
        Holding(right: "observe", method: "watch"),
        Holding(
            right: "control", method: "barrier.register", params: ["id": "gate", "state": "closed", "scopes": "jobs"]),
        Holding(right: "serve", method: "dispatcher.subscribe", params: ["id": "jobs"]),
        Holding(right: "serve", method: "board.serve", params: ["board": "till"]),
    ]

    @Test(
        "X1: a client that loses its right loses its watches, barriers and subscriptions, and then its session",
        arguments: holdings)
    func ends(holding: Holding) async throws {
        try await withScene { scene in
            let (daemon, collector) = try await daemon(in: scene)
            let doorway = try await scene.doorway(of: Self.person, to: daemon)
            let client = try await doorway.connect()
            try await daemon.pause()
            _ = try await client.result("track", ["event": "x", "id": "1", "dispatchers": ["collect"]])
            _ = try await client.result(holding.method, holding.params)
            let flush = try await client.request("flush", ["wait": true, "timeout_ms": 0])
            #expect(try await client.result("ping") == [:])

            try await daemon.set(["access": .object([holding.right: .null])])
            try await expectClosing(client)
            // The connection is still open, but the daemon has removed the watch, barrier, subscription or board.
            try await expectGone(holding, daemon)
            try await daemon.resume()
            // The client gets no notifications and no batches, only the answer to its flush and the end of the stream.
            let answer = try await client.message()
            #expect(answer.contains(["id": JSON(flush), "result": ["ended": "settled"]]))
            #expect(try await client.nextLine() == nil)
            try await collector.acceptedIDs(atLeast: 1)

            let again = try await doorway.connect()
            #expect(try await again.refusal(holding.method, holding.params)["data"]["reason"] == "unauthorized")
            #expect(try await again.result("ping") == [:])
            try await daemon.logs("has lost the right to \(holding.right)")
        }
    }

    @Test("X1, S3: a worker that loses its right finishes its batch, and nothing is sent again")
    func finishesBatch() async throws {
        try await withScene { scene in
            let (daemon, _) = try await daemon(in: scene)
            let worker = try await scene.doorway(of: Self.person, to: daemon).connect()
            _ = try await worker.result("dispatcher.subscribe", ["id": "jobs"])
            for id in ["1", "2"] { _ = try await daemon.ask("track", ["event": "job", "id": .string(id)]) }
            let batch = try await worker.message()
            #expect(batch["params"]["events"].elements.map { $0["id"] } == ["1"])

            try await daemon.set(["access": ["serve": .null]])
            try await expectClosing(worker)
            try await worker.send(JSON.object(["jsonrpc": "2.0", "id": batch["id"], "result": [:]]).description)
            #expect(try await worker.nextLine() == nil)
            let jobs = try await daemon.dispatcher("jobs", until: "the batch is settled") { $0["sent"] == 1 }
            #expect(jobs.contains(["failed": 0, "in_flight": 0, "pending": 1]))
        }
    }

    @Test("X1, S3: a run of a board whose right is removed is completed")
    func finishesBoard() async throws {
        try await withScene { scene in
            let (daemon, _) = try await daemon(in: scene)
            let server = try await scene.doorway(of: Self.person, to: daemon).connect()
            _ = try await server.result("board.serve", ["board": "till"])
            let asker = try await daemon.connect()
            let activation = try await asker.request("board.activate", ["board": "till"])
            let run = try await server.message()
            #expect(run["method"] == "board.run")

            try await daemon.set(["access": ["serve": .null]])
            try await expectClosing(server)
            #expect(try await asker.refusal("board.activate", ["board": "till"])["data"]["reason"] == "not_found")
            try await server.send(
                JSON.object(["jsonrpc": "2.0", "id": run["id"], "result": ["done": true]]).description)
            #expect(try await asker.answer(to: activation)["result"]["done"] == true)
            #expect(try await server.nextLine() == nil)
        }
    }

    // MARK: The scene

    /// Creates a daemon whose rights the test removes one by one in the programmatic layer.
    private func daemon(in scene: Scene) async throws -> (Daemon, Collector) {
        let collector = try scene.collector()
        let daemon = scene.idleDaemon()
        daemon.launcher = AccessTests.launcher
        let jobs: JSON = ["kind": "worker", "dispatch_limit": 1, "load_rule": "is_job"]
        try daemon.configure([
            "dispatchers": ["collect": collector.dispatcher(), "jobs": jobs],
            "load_rules": ["is_job": ["operator": "equals", "path": "event", "value": "job"]],
        ])
        try await daemon.start()
        let mine: JSON = ["uids": [45_001]]
        try await daemon.set(["access": ["observe": mine, "control": mine, "serve": mine]])
        return (daemon, collector)
    }

    /// Checks that the daemon has removed the client's barrier, subscription or board. For a watch, the messages show it.
    private func expectGone(_ holding: Holding, _ daemon: Daemon) async throws {
        switch holding.method {
        case "barrier.register":
            #expect(try await !daemon.ask("barrier.list")["barriers"].elements.contains { $0["id"] == "gate" })
        case "dispatcher.subscribe":
            #expect(try await daemon.barrier("WorkerBarrier:jobs")["reason"] == "no worker subscribes")
        case "board.serve":
            let error = try await daemon.connect().refusal("board.activate", ["board": "till"])
            #expect(error["data"]["reason"] == "not_found")
        default: return
        }
    }

    /// Reads messages until the notification that the connection will close.
    private func expectClosing(_ client: LineClient) async throws {
        while true {
            let message = try await client.message()
            guard message["method"] == "closing" else { continue }
            #expect(message["params"] == ["reason": "unauthorized"])
            return
        }
    }
}
