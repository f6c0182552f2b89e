import Testing

/// Disks that do not respond for a while, or that are full.
@Suite struct DiskWaitTests {
    /// After some quick syncs the loop's own thread waits for the disk, until a sync takes too long.
    @Test(
        "Q5: while the disk hangs nothing is acknowledged and everything else continues, and then acknowledgements resume",
        arguments: [3, 100])
    func hangs(behind quick: Int) async throws {
        try await withScene { scene in
            let fault = try await MachineFault.hangingSync(in: scene.directory.path)
            let collector = try scene.collector()
            let daemon = scene.idleDaemon()
            daemon.environment = fault.environment
            try daemon.configure(["dispatchers": ["collect": collector.dispatcher()]])
            try await daemon.start()
            try await daemon.pause()
            let before = try await daemon.track(1...quick)
            try fault.set(true)
            let (client, other) = (try await daemon.connect(), try await daemon.connect())
            let request = try await client.request("track", ["event": "last", "id": "last"])
            // Resuming changes only memory at first; the answer waits until the change is on disk.
            _ = try await other.request("dispatcher.resume", ["id": "collect"])
            #expect(try await collector.acceptedIDs(atLeast: quick) == before)
            // A ping sent after the event on the same connection is answered before the event.
            for _ in 1...20 {
                let ping = try await client.request("ping")
                #expect(try await client.message()["id"].int == ping)
            }
            #expect(try await daemon.ask("status")["ready"] == true)

            try fault.set(false)
            #expect(try await client.answer(to: request)["result"]["id"] == "last")
            #expect(try await collector.acceptedIDs(atLeast: quick + 1) == before + ["last"])
            // The two threads have swapped roles, and keep their new roles.
            _ = try await daemon.track(1001...1050)
            #expect(try await collector.acceptedIDs(atLeast: quick + 51).count == quick + 51)
            #expect(try await daemon.stop() == 0)
        }
    }

    @Test(
        "Q8: on a read-only disk events are refused with storage and delivery continues, until it is writable again",
        arguments: ["log": ".log", "sqlite": "-wal"])
    func turnsReadOnly(_ kind: String, _ end: String) async throws {
        try await withScene { scene in
            let fault = try await MachineFault.readOnlyFiles(in: scene.directory.path, endingIn: end)
            let collector = try scene.collector()
            let daemon = scene.idleDaemon()
            daemon.environment = fault.environment
            try daemon.configure([
                "dispatchers": ["collect": collector.dispatcher()], "store": ["kind": .string(kind)],
            ])
            try await daemon.start()
            try await daemon.pause()
            let before = try await daemon.track(1...3)
            try fault.set(true)
            let client = try await daemon.connect()
            for _ in 1...3 {
                let error = try await client.refusal("track", ["event": "refused", "id": "refused"])
                #expect(error["data"]["reason"] == "storage")
            }
            #expect(try await client.refusal("dispatcher.resume", ["id": "collect"])["data"]["reason"] == "storage")
            #expect(try await collector.acceptedIDs(atLeast: 3) == before)

            try fault.set(false)
            #expect(try await client.result("track", ["event": "e4", "id": "e4"])["duplicate"] == .null)
            try await eventually("the event is delivered") { collector.acceptedIDs.last == "e4" }
            #expect(!collector.acceptedIDs.contains("refused"))
            #expect(try await daemon.stop() == 0)
        }
    }

    /// An event offered again is reported as stored, even if the daemon that wrote the event was killed before the
    /// sync.
    @Test(
        "Q5, Q7: a start with durability full syncs the data of a killed daemon or fails, and with normal it need not",
        arguments: ["log": ".log", "sqlite": "/events.db-wal"])
    func startSyncs(_ kind: String, _ end: String) async throws {
        try await withScene { scene in
            let fault = try await MachineFault.failingSync(in: scene.directory.path, of: end)
            let settings: JSON = [
                "dispatchers": ["collect": try scene.collector(listening: false).dispatcher()],
                "store": ["kind": .string(kind)],
            ]
            let daemon = scene.idleDaemon()
            daemon.environment = fault.environment
            try daemon.configure(settings)
            try await daemon.start()
            try await daemon.track(1...1)
            try await daemon.killNow()
            try fault.set(true)
            #expect(try await daemon.run() == 1)
            try await daemon.logs(": Input/output error")

            try fault.set(kind == "sqlite")
            try daemon.configure(settings.merging(["durability": "normal"]))
            try await daemon.start()
            #expect(try await daemon.ask("track", ["event": "e1", "id": "e1"])["duplicate"] == true)
        }
    }
}
