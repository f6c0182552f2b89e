import Testing

/// A daemon that may have only few descriptors.
@Suite struct DescriptorTests {
    @Test("X3: out of descriptors the daemon serves whom it has, without spinning, and all when there are some again")
    func outOfDescriptors() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = scene.idleDaemon()
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
            try await eventually("it is told") { daemon.log.contains("a connection could not be taken") }

            // What is tracked now needs no descriptor to be safe. Its collector cannot be reached.
            _ = try await first.result("track", ["event": "e1", "id": "e1"])
            let before = try daemon.processorTicks()
            try await Task.sleep(for: .seconds(1))
            // One that spins uses a hundred in a second.
            #expect(try daemon.processorTicks() - before < 30)
            let lines = daemon.log.split(separator: "\n").filter { $0.contains("a connection could not be taken") }
            #expect(lines.count == 1)

            for client in crowd.prefix(40) { client.close() }
            for client in crowd.dropFirst(40) { #expect(try await client.message()["result"] == [:]) }
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
        }
    }
}
