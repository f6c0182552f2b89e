import Testing

/// The requests and answers of `Fixtures/exchanges.json`, over a real socket.
@Suite struct ExchangeTests {
    @Test("Every exchange of the fixtures is answered as specified, and the connection stays open")
    func exchanges() async throws {
        try await withScene { scene in
            let client = try await scene.daemon(sendingTo: scene.collector()).connect()
            let exchanges = try Fixture.json("exchanges.json").elements
            #expect(exchanges.count > 40)
            for exchange in exchanges { try await play(exchange, over: client) }
        }
    }

    @Test(
        "The id of a request is returned unchanged",
        arguments: [
            "12345678901234567890123", "1.0", "1e3", "-0", #""ä""#,
        ])
    func idComesBack(id: String) async throws {
        try await withScene { scene in
            let client = try await scene.daemon(sendingTo: scene.collector()).connect()
            try await client.send(#"{"jsonrpc":"2.0","id":\#(id),"method":"ping"}"#)
            #expect(try await client.line().contains(#""id":\#(id)"#))
        }
    }

    @Test("Notifications are carried out without an answer, and failures are counted")
    func notifications() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let client = try await scene.daemon(sendingTo: collector).connect()
            try await client.send(#"{"jsonrpc":"2.0","method":"track","params":{"event":"x","id":"n-1"}}"#)
            try await client.send(#"{"jsonrpc":"2.0","method":"track","params":{"event":""}}"#)
            try await client.send(#"{"jsonrpc":"2.0","method":"nothing"}"#)
            try await client.send(#"[{"jsonrpc":"2.0","method":"nothing"}]"#)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["n-1"])
            #expect(try await client.result("status")["counters"].contains(["received": 1, "failed_notifications": 3]))
        }
    }

    /// Sends the line followed by a ping. Answers before the pong belong to the line: a ping overtakes no immediate
    /// answer, and answers that wait for storage are awaited.
    private func play(_ exchange: JSON, over client: LineClient) async throws {
        let name = exchange["name"].string ?? "?"
        var expected = exchange["answers"].elements
        try await client.send(try #require(exchange["send"].string))
        while !expected.isEmpty {
            let answer = try await client.message()
            let index = expected.firstIndex { answer.containsInAnyOrder($0) }
            guard let index else {
                Issue.record("\(name): got \(answer), wanted \(expected)")
                return
            }
            expected.remove(at: index)
        }
        try await client.send(#"{"jsonrpc":"2.0","id":"after","method":"ping"}"#)
        let after = try await client.message()
        #expect(after == ["jsonrpc": "2.0", "id": "after", "result": [:]], "\(name): an answer too many")
    }
}

extension JSON {
    /// Returns true if the value contains `part`, where the elements of an outermost array may be in any order, as in an
    /// answer to a batch.
    fileprivate func containsInAnyOrder(_ part: JSON) -> Bool {
        guard case .array(let expected) = part else { return contains(part) }
        guard case .array(var mine) = self, mine.count == expected.count else { return false }
        for one in expected {
            guard let index = mine.firstIndex(where: { $0.contains(one) }) else { return false }
            mine.remove(at: index)
        }
        return true
    }
}
