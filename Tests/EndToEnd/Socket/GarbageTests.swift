import Testing

/// X3: arbitrary bytes at any time. Other clients must not be affected.
@Suite struct GarbageTests {
    @Test("X3: garbage of every kind does not affect other clients", arguments: Garbage.allCases)
    func garbage(kind: Garbage) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: ["limits": ["max_line_bytes": 65_536]])
            let good = try await daemon.connect()
            var bad: [LineClient] = []
            for round in 1...20 {
                let client = try await daemon.connect()
                try await pour(kind.bytes(seed: UInt64(round)), into: client)
                bad.append(client)
                _ = try await good.result("track", ["event": "x", "id": "e\(round)"])
            }
            #expect(try await collector.acceptedIDs(atLeast: 20) == (1...20).map { "e\($0)" })
            for client in bad.prefix(10) { client.close() }
            for client in bad.suffix(10) { client.finishSending() }
            _ = try await good.result("track", ["event": "x", "id": "e21"])
            try await collector.acceptedIDs(atLeast: 21)
            #expect(daemon.process?.isRunning == true)
        }
    }

    @Test("X3: a connection still works after garbage", arguments: Garbage.allCases.filter(\.isLines))
    func connectionStays(kind: Garbage) async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(
                sendingTo: scene.collector(), top: ["limits": ["max_line_bytes": 65_536]])
            let client = try await daemon.connect()
            try await pour(kind.bytes(seed: 7) + Array("\n".utf8), into: client)
            #expect(try await client.result("ping") == [:])
        }
    }

    @Test("X2: a client that never reads its answers is bounded and delays no other")
    func neverReading() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(
                sendingTo: collector, top: ["limits": ["max_output_bytes": 65_536, "max_unanswered": 256]])
            let deaf = try await daemon.connect()
            let good = try await daemon.connect()
            let flood =
                Array(repeating: #"{"jsonrpc":"2.0","id":1,"method":"status"}"#, count: 200).joined(separator: "\n")
                + "\n"
            var taken = 0
            for round in 1...50 {
                // Bytes that the daemon does not read stay with the sender.
                taken += (try? deaf.offer(Array(flood.utf8)[...])) ?? 0
                _ = try await good.result("track", ["event": "x", "id": "e\(round)"])
            }
            #expect(taken > 0)
            #expect(try await collector.acceptedIDs(atLeast: 50).count == 50)
            #expect(try await good.result("ping") == [:])
        }
    }

    @Test("X3: hundreds of short connections leak nothing")
    func comeAndGo() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let good = try await daemon.connect()
            for round in 1...300 {
                let client = try await daemon.connect()
                if round % 3 == 0 { try await client.send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#) }
                if round % 3 == 1 { try await client.send(bytes: Array(#"{"jsonrpc":"2.0","id":1,"#.utf8)) }
                client.close()
            }
            try await eventually("the others are disconnected") { try await good.result("status")["clients"] == 1 }
            _ = try await good.result("track", ["event": "x", "id": "last"])
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["last"])
        }
    }

    /// Sends all bytes unless the daemon closes the connection first, which is allowed.
    private func pour(_ bytes: [UInt8], into client: LineClient) async throws {
        do {
            try await client.send(bytes: bytes)
        } catch is SystemError {
            return
        }
    }
}

/// Kinds of bytes that are not a message.
enum Garbage: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case nothing, random, zeros, badUTF8, overlongUTF8, deepNesting, deepObjects, longLine, halfMessage, hugeNumbers,
        otherProtocol
    case answers, cutInTwo

    var testDescription: String { rawValue }

    /// True if a line feed after the bytes starts a new line on the connection.
    var isLines: Bool { self != .nothing }

    /// Returns bytes of this kind. For random kinds the seed selects them.
    func bytes(seed: UInt64) -> [UInt8] {
        switch self {
        case .nothing: []
        case .random: Self.noise(20_000, seed: seed)
        case .zeros: [UInt8](repeating: 0, count: 10_000)
        case .badUTF8: Self.request(around: [0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80])
        case .overlongUTF8: Self.request(around: [0xc0, 0xaf, 0xf4, 0x90, 0x80, 0x80])
        case .deepNesting: [UInt8](repeating: UInt8(ascii: "["), count: 60_000) + Array("\n".utf8)
        case .deepObjects: Array(String(repeating: #"{"a":"#, count: 10_000).utf8) + Array("\n".utf8)
        case .longLine: [UInt8](repeating: UInt8(ascii: "x"), count: 300_000)
        case .halfMessage: Array(#"{"jsonrpc":"2.0","id":1,"method":"track","params":{"event":"#.utf8)
        case .hugeNumbers: Self.request(around: [0xff], id: "1" + String(repeating: "0", count: 30_000))
        case .otherProtocol: Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        case .answers: Array(#"{"jsonrpc":"2.0","id":99,"result":{}}"#.utf8) + Array("\n".utf8)
        case .cutInTwo: Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"meth\nod\":\"ping\"}\n".utf8)
        }
    }

    private static func request(around bytes: [UInt8], id: String = "1") -> [UInt8] {
        Array(#"{"jsonrpc":"2.0","id":\#(id),"method":"track","params":{"event":"x"#.utf8) + bytes
            + Array("\"}}\n".utf8)
    }

    private static func noise(_ count: Int, seed: UInt64) -> [UInt8] {
        var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
        return (0..<count).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(truncatingIfNeeded: state >> 24)
        }
    }
}
