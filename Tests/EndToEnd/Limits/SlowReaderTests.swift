import Testing

/// X2: clients that do not take their answers.
@Suite struct SlowReaderTests {
    @Test("X2: who leaves its answers lying is closed after slow_reader_timeout_ms, and counted")
    func closed() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(
                sendingTo: scene.collector(),
                top: ["limits": ["slow_reader_timeout_ms": 300, "max_output_bytes": 65_536]])
            let deaf = try await daemon.connect()
            let idle = try await daemon.connect()
            // It may be closed before it is full.
            _ = try? await fill(deaf)
            try await eventually("the slow reader is closed") { try await daemon.counter("slow_readers_closed") == 1 }
            // What it had left lying in the kernel is still there for it; then comes the end.
            while try await deaf.nextLine() != nil {}
            // Who has nothing to take is not slow.
            #expect(try await idle.result("ping") == [:])
        }
    }

    @Test("X2: a slow reader's answers wait up to max_output_bytes, however much it asks for; all come when it reads")
    func bounded() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(
                sendingTo: scene.collector(),
                top: ["limits": ["slow_reader_timeout_ms": 600_000, "max_output_bytes": 65_536]])
            let before = try daemon.residentKilobytes()
            let deaf = try await daemon.connect()
            let asked = try await fill(deaf)
            #expect(try daemon.residentKilobytes() - before < 16_384)
            #expect(try await daemon.counter("paused_readings") ?? 0 >= 1)
            for _ in 1...asked { #expect(try await deaf.message()["result"]["ready"] == true) }
        }
    }

    /// Asks for status until the daemon reads no more; gives back how often it asked.
    @discardableResult
    private func fill(_ client: LineClient) async throws -> Int {
        let line = Array(#"{"jsonrpc":"2.0","id":1,"method":"status"}"#.utf8) + [0x0A]
        var (asked, refused) = (0, 0)
        // The daemon may be just about to read: only a socket that stays full is full.
        while refused < 40 {
            if try client.offer(line[...]) == line.count {
                (asked, refused) = (asked + 1, 0)
            } else {
                refused += 1
                try await Task.sleep(for: .milliseconds(25))
            }
        }
        return asked
    }
}
