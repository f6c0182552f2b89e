import Testing

/// A daemon with a low limit of open descriptors.
@Suite struct DescriptorTests {
    @Test(
        "X3: without free descriptors the daemon serves its clients without spinning, and all clients when some are free"
    )
    func outOfDescriptors() async throws {
        try await withScene { scene in
            let turns = try await MachineFault.countedTurns(in: scene.directory.path)
            let collector = try scene.collector()
            let daemon = scene.idleDaemon()
            daemon.environment = turns.environment
            daemon.launcher = ["/usr/bin/prlimit", "--nofile=48:48"]
            try daemon.configure(["dispatchers": ["collect": collector.dispatcher()]])
            try await daemon.start()
            let first = try await daemon.connect()
            #expect(try await first.result("ping") == [:])
            var crowd: [LineClient] = []
            for _ in 1...60 {
                crowd.append(try await daemon.connect())
                _ = try await crowd.last?.request("ping")
            }
            try await eventually("the error is logged") { daemon.log.contains("could not accept a connection") }

            // Storing an event needs no new descriptor. The collector cannot be reached.
            _ = try await first.result("track", ["event": "e1", "id": "e1"])
            let before = turns.counted
            try await Task.sleep(for: .milliseconds(500))
            // Ten times a second the daemon checks for descriptors, and tries the collector again. A busy loop would take
            // thousands of turns, even on a loaded machine.
            #expect((before + 1...before + 300).contains(turns.counted))
            let lines = daemon.log.split(separator: "\n").filter { $0.contains("could not accept a connection") }
            #expect(lines.count == 1)

            for client in crowd.prefix(40) { client.close() }
            for client in crowd.dropFirst(40) { #expect(try await client.message()["result"] == [:]) }
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
        }
    }
}
