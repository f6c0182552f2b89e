import Testing

/// X2: clients that do not read their answers.
@Suite struct SlowReaderTests {
    @Test("X2: a client that does not read its answers is closed after slow_reader_timeout_ms, and counted")
    func closed() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(
                sendingTo: scene.collector(),
                top: ["limits": ["slow_reader_timeout_ms": 300, "max_output_bytes": 65_536]])
            let deaf = try await daemon.connect()
            let idle = try await daemon.connect()
            // The connection may be closed before the socket is full.
            _ = try? await fill(deaf, of: daemon)
            try await eventually("the slow reader is closed") { try await daemon.counter("slow_readers_closed") == 1 }
            // Answers in the kernel's buffer can still be read, followed by the end of the stream.
            while try await deaf.nextLine() != nil {}
            // A client without pending answers is not slow.
            #expect(try await idle.result("ping") == [:])
        }
    }

    @Test("X2: a slow reader's pending answers are limited to max_output_bytes, and all arrive when it reads")
    func bounded() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(
                sendingTo: scene.collector(),
                top: ["limits": ["slow_reader_timeout_ms": 600_000, "max_output_bytes": 65_536]])
            let before = try daemon.residentKilobytes()
            let deaf = try await daemon.connect()
            let requested = try await fill(deaf, of: daemon)
            #expect(try daemon.residentKilobytes() - before < 16_384)
            for _ in 1...requested { #expect(try await deaf.message()["result"]["ready"] == true) }
        }
    }

    /// Sends `status` requests until the daemon stops reading and the socket is full. Returns the number of requests.
    private func fill(_ client: LineClient, of daemon: Daemon) async throws -> Int {
        let line = Array(#"{"jsonrpc":"2.0","id":1,"method":"status"}"#.utf8) + [0x0A]
        var requested = 0
        try await eventually("a full socket that is not read") {
            // The counter is read first, since the daemon may be about to read when the socket is full.
            let isPaused = (try await daemon.counter("paused_readings") ?? 0) >= 1
            while try client.offer(line[...]) == line.count { requested += 1 }
            return isPaused
        }
        return requested
    }
}
