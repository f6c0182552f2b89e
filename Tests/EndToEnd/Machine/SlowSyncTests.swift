import Testing

/// A disk with slow syncs. Only requests that wait for the disk are delayed: acknowledgements, and changes that must
/// survive a restart.
@Suite struct SlowSyncTests {
    @Test(
        "Q5: during a hanging sync other requests are answered, barriers change, and stored events are delivered",
        arguments: ["log", "sqlite"])
    func othersDoNotWait(_ kind: String) async throws {
        try await withScene { scene in
            let slow = try await SlowDisk(scene, kind)
            let (owner, board) = (try await slow.daemon.connect(), try await slow.daemon.connect())
            _ = try await owner.result("barrier.register", ["id": "door", "scopes": ["collect"], "state": "closed"])
            let before = try await slow.daemon.track(1...3)
            let tracker = try await slow.trackInVain("e4")
            #expect(slow.collector.acceptedIDs.isEmpty)

            for method in ["ping", "status", "dispatcher.list", "barrier.list", "config.get"] {
                _ = try await owner.result(method)
            }
            _ = try await owner.result("flush", ["dispatchers": ["idle"], "wait": true])
            try await slow.activate("till", by: board, for: owner)
            _ = try await owner.result("barrier.set", ["id": "door", "state": "open"])
            #expect(try await slow.collector.acceptedIDs(atLeast: 3) == before)

            // Pausing changes only memory at first; the answer waits until the change is on disk.
            let pause = try await owner.request("dispatcher.pause", ["id": "collect"])
            #expect(try await slow.daemon.dispatcher()["state"] == "blocked")
            let (last, ping) = (try await owner.request("ping"), try await tracker.client.request("ping"))
            #expect(try await owner.message()["id"].int == last)
            #expect(try await tracker.client.message()["id"].int == ping)

            try slow.fault.set(false)
            #expect(try await tracker.client.message()["id"].int == tracker.request)
            #expect(try await owner.message()["id"].int == pause)
        }
    }
}

/// A daemon on a disk whose syncs hang.
private struct SlowDisk {
    let daemon: Daemon
    let collector: Collector
    let fault: MachineFault

    init(_ scene: Scene, _ kind: String) async throws {
        fault = try await MachineFault.hangingSync(in: scene.directory.path)
        collector = try scene.collector()
        daemon = scene.idleDaemon()
        daemon.environment = fault.environment
        let dispatchers: JSON = ["collect": collector.dispatcher(), "idle": try scene.collector().dispatcher()]
        try daemon.configure(["dispatchers": dispatchers, "store": ["kind": .string(kind)]])
        try await daemon.start()
    }

    /// Makes syncs hang from now on, and sends an event whose sync hangs.
    func trackInVain(_ name: String) async throws -> (client: LineClient, request: Int) {
        try await daemon.dispatcher("idle", until: "all is sent") { $0["pending"] == 0 && $0["in_flight"] == 0 }
        try fault.set(true)
        let client = try await daemon.connect()
        let event: JSON = ["event": .string(name), "id": .string(name), "dispatchers": ["collect"]]
        return (client, try await client.request("track", event))
    }

    func activate(_ name: JSON, by server: LineClient, for client: LineClient) async throws {
        _ = try await server.result("board.serve", ["board": name])
        let activation = try await client.request("board.activate", ["board": name])
        let run = try await server.message()["id"]
        try await server.send((["jsonrpc": "2.0", "id": run, "result": ["done": true]] as JSON).description)
        #expect(try await client.answer(to: activation)["result"]["done"] == true)
    }
}
