import Testing

/// X2: the daemon stops reading while too many requests are unanswered, continues when there is room, and loses no
/// answer.
@Suite struct UnansweredTests {
    @Test("X2: with max_unanswered open requests reading stops until one is answered")
    func requests() async throws {
        try await holdsBack(["max_unanswered": 3], requestsToFill: 3)
    }

    @Test("X2: with max_unanswered_bytes of open requests reading stops until one is answered")
    func bytes() async throws {
        // The first two waiting flushes exceed the limit.
        try await holdsBack(["max_unanswered_bytes": 600], requestsToFill: 2)
    }

    /// Fills a connection with waiting flushes, then sends requests until the kernel accepts no more.
    private func holdsBack(_ limits: JSON, requestsToFill count: Int) async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector(), top: ["limits": limits])
            try await daemon.pause()
            try await daemon.track(1...1)
            let client = try await daemon.connect()
            let filler = String(repeating: "x", count: 300)
            for number in 1...count {
                _ = try await client.request(
                    "flush", ["wait": true, "timeout_ms": 0, "flush": .string("f\(number)"), "pad": .string(filler)])
            }
            let pings = try await offerPings(to: client)
            let other = try await daemon.connect()
            #expect(try await other.result("status")["counters"]["paused_readings"] == 1)

            for number in 1...count {
                _ = try await other.result("flush.cancel", ["flush": .string("f\(number)")])
            }
            for number in 1...count { #expect(try await client.answer(to: number)["result"]["ended"] == "cancelled") }
            for number in 1...pings { #expect(try await client.message()["id"].int == 1_000 + number) }
        }
    }

    /// Sends pings until the socket is full. Returns the number of pings.
    private func offerPings(to client: LineClient) async throws -> Int {
        var count = 0
        while count < 1_000_000 {
            let line = Array(#"{"jsonrpc":"2.0","id":\#(1_001 + count),"method":"ping"}"#.utf8) + [0x0A]
            var taken = try client.offer(line[...])
            if taken == 0 { return count }
            while taken < line.count {
                // A line is short, so the kernel normally accepts it as a whole or not at all.
                taken += try client.offer(line[taken...])
            }
            count += 1
        }
        throw NeverHappened("a full socket")
    }

    @Test("X2: a message that lets another connection continue does not handle that connection's lines in between")
    func batchThatMakesRoom() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector(), top: ["limits": ["max_unanswered": 1]])
            try await daemon.pause()
            try await daemon.track(1...1)
            let waiting = try await daemon.connect()
            let flush = #"{"jsonrpc":"2.0","id":1,"method":"flush","params":{"wait":true,"timeout_ms":0,"flush":"f"}}"#
            let others = (2...50).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"nothing.\#($0)"}"# }
            try await waiting.send(([flush] + others).joined(separator: "\n"))
            let acting = try await daemon.connect()
            try await eventually("a stop of reading") {
                try await acting.result("status")["counters"]["paused_readings"].int ?? 0 >= 1
            }

            let cancel = #"{"jsonrpc":"2.0","id":100,"method":"flush.cancel","params":{"flush":"f"}}"#
            let pings = (101...200).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"ping"}"# }
            try await acting.send("[" + ([cancel] + pings).joined(separator: ",") + "]")
            let answers = try await acting.message().elements
            #expect(answers.map(\.["id"].int) == (100...200).map { $0 })
            #expect(answers.allSatisfy { $0["result"] == [:] })
            #expect(try await waiting.message()["result"]["ended"] == "cancelled")
            for number in 2...50 { #expect(try await waiting.message()["id"].int == number) }
        }
    }

    @Test("A batch whose first message changes max_depth is read to its end")
    func batchThatChangesTheDecoder() async throws {
        try await withScene { scene in
            let client = try await scene.daemon(sendingTo: scene.collector()).connect()
            for depth in 20...40 {
                let change =
                    #"{"jsonrpc":"2.0","id":0,"method":"config.set","params":{"patch":{"limits":{"max_depth":\#(depth)}}}}"#
                let pings = (1...500).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"ping"}"# }
                try await client.send("[" + ([change] + pings).joined(separator: ",") + "]")
                #expect(try await client.message().elements.map(\.["id"].int) == (0...500).map { $0 })
            }
        }
    }
}
