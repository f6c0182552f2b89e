import Testing

/// Q4: the last tenth of a full store is shared between users, and between the namespaces of a user.
@Suite struct FairShareTests {
    @Test("Q4: while one user floods a full store, no event of another user is refused", .asOtherUsers)
    func users() async throws {
        try await withScene { scene in
            // The other user must be in the group of the daemon's socket.
            let launcher = ["/usr/bin/setpriv", "--regid=45000", "--clear-groups"]
            let daemon = try await fullStore(scene, launcher: launcher)
            let flood = try await Flood(over: try await daemon.connect())
            let door = try await scene.doorway(of: Person(uid: 45_001, gid: 45_000), to: daemon)
            try await expectNoRefusal(of: try await door.connect(), during: flood)

            let senders = try await daemon.ask("client.list")["senders"].elements
            #expect(senders.map { $0["namespace"] } == ["uid:0", "uid:45001"])
            #expect((senders[0]["pending_events"].int ?? 0) > 17_000)
            #expect(try await CommandLineTool.run("doctor", on: daemon).output.contains("uid 0 sent 9"))
            let metrics = try await CommandLineTool.run("metrics", on: daemon).output
            #expect(metrics.contains("headgate_user_stored_events_total{uid=\"45001\"} 100\n"))
        }
    }

    @Test("Q4: while a program floods a full store, no event of its user's other namespaces is refused")
    func namespaces() async throws {
        try await withScene { scene in
            let daemon = try await fullStore(scene)
            let flood = try await Flood(over: try await daemon.connect())
            let till = try await daemon.connect()
            _ = try await till.result("hello", ["client": ["name": "till"], "namespace": "till"])
            try await expectNoRefusal(of: till, during: flood)
        }
    }

    @Test("Q4: a user above limits.rate is not read, loses nothing, and the user's other messages wait as well")
    func rate() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(
                sendingTo: collector, top: ["limits": ["rate": ["per_second": 100, "burst": 10]]])
            let client = try await daemon.connect()
            let begin = ContinuousClock.now
            for _ in 1...40 { _ = try await client.result("track", ["event": "x"]) }
            // The first ten events are the burst.
            #expect(ContinuousClock.now - begin >= .milliseconds(290))
            #expect(try await collector.acceptedIDs(atLeast: 40).count == 40)
        }
    }

    /// Starts a daemon with room for 20 000 events, whose dispatcher is paused.
    /// - Parameter launcher: the command that runs the daemon, or none.
    private func fullStore(_ scene: Scene, launcher: [String] = []) async throws -> Daemon {
        let daemon = scene.idleDaemon()
        daemon.launcher = launcher
        try daemon.configure([
            "dispatchers": ["collect": scene.collector().dispatcher()], "store": ["max_events": 20_000],
            "durability": "memory",
        ])
        try await daemon.start()
        try await daemon.pause()
        return daemon
    }

    /// Tracks a hundred events one after another while the other client floods.
    private func expectNoRefusal(of client: LineClient, during flood: Flood) async throws {
        for _ in 1...100 {
            try await flood.continues()
            #expect(try await client.result("track", ["event": "sale"])["seq"].int != nil)
        }
        #expect(flood.refused > 100)
    }
}

/// A client that fills the store, and continues to send events that are then refused.
private final class Flood {
    private let client: LineClient
    private(set) var refused = 0

    init(over client: LineClient) async throws {
        self.client = client
        let many: JSON = ["events": .array(Array(repeating: ["event": "flood"], count: 50))]
        while try await client.answer(to: client.request("track_many", many))["error"] == .null {}
    }

    /// Sends some events, and reads the answers.
    func continues() async throws {
        var numbers: [Int] = []
        for _ in 1...20 { numbers.append(try await client.request("track", ["event": "flood"])) }
        for number in numbers where try await client.answer(to: number)["error"] != .null { refused += 1 }
    }
}
