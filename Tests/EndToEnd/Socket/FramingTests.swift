import Testing

/// Lines on the socket.
@Suite struct FramingTests {
    private static let ping = #"{"jsonrpc":"2.0","id":1,"method":"ping"}"#
    private static let pong: JSON = ["jsonrpc": "2.0", "id": 1, "result": [:]]

    @Test("A line may arrive in any pieces, down to single bytes")
    func pieces() async throws {
        try await withScene { scene in
            let client = try await scene.daemon(sendingTo: scene.collector()).connect()
            for byte in (Self.ping + "\n").utf8 { try await client.send(bytes: [byte]) }
            #expect(try await client.message() == Self.pong)
        }
    }

    @Test("CR LF ends a line, and blank lines are ignored")
    func lineEnds() async throws {
        try await withScene { scene in
            let client = try await scene.daemon(sendingTo: scene.collector()).connect()
            try await client.send(bytes: Array("\n\r\n\n\(Self.ping)\r\n\r\n\(Self.ping)\n".utf8))
            #expect(try await client.message() == Self.pong)
            #expect(try await client.message() == Self.pong)
        }
    }

    @Test("A half-closed client gets all answers, then the server closes")
    func halfClose() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let client = try await daemon.connect()
            let lines = (1...200).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"track","params":{"event":"x"}}"# }
            try await client.send(lines.joined(separator: "\n"))
            client.finishSending()
            for number in 1...200 { #expect(try await client.message()["id"].int == number) }
            #expect(try await client.nextLine() == nil)
            try await collector.acceptedIDs(atLeast: 200)
        }
    }

    @Test("A half-closed client also gets late answers, then the server closes")
    func halfCloseBeforeAnswer() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            try await daemon.pause()
            let client = try await daemon.connect()
            #expect(try await client.result("track", ["event": "x"])["seq"] == 1)
            let flush = try await client.request("flush", ["wait": true, "timeout_ms": 300])
            client.finishSending()
            let answer = try await client.answer(to: flush)["result"]
            #expect(answer["ended"] == "timeout")
            #expect(answer["dispatchers"]["collect"].contains(["left": 1, "blocked_by": ["ManualBarrier:collect"]]))
            #expect(try await client.nextLine() == nil)
        }
    }

    @Test(
        "A half-closed client without a last LF gets the answer to its last line, then the server closes",
        arguments: [
            (ping, pong), ("[\(ping),\(ping),\(ping)]", [pong, pong, pong]),
            (#"[\#(ping),{"jsonrpc":"2.0","id":1,"method":"flush","params":{"wait":true}}]"#, [pong, ["id": 1]]),
            (String(repeating: "x", count: 5_000), ["id": .null, "error": ["data": ["reason": "line_too_long"]]]),
        ] as [(String, JSON)])
    func halfCloseWithoutLineFeed(line: String, answer: JSON) async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(
                sendingTo: scene.collector(), top: ["limits": ["max_line_bytes": 4_096]])
            let client = try await daemon.connect()
            try await client.send(bytes: Array(line.utf8))
            client.finishSending()
            #expect(try await client.message().contains(answer))
            #expect(try await client.nextLine() == nil)
        }
    }

    @Test("A line over the limit gets line_too_long once, its rest is skipped, and the connection stays open")
    func longLine() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(
                sendingTo: scene.collector(), top: ["limits": ["max_line_bytes": 4_096]])
            let client = try await daemon.connect()
            try await client.send(String(repeating: "x", count: 1_000_000))
            try await client.send(Self.ping)
            let error = try await client.message()
            #expect(error["id"] == .null)
            #expect(error["error"]["code"] == -32000)
            #expect(error["error"]["data"]["reason"] == "line_too_long")
            #expect(try await client.message() == Self.pong)
            #expect(try await client.result("status")["counters"]["line_too_long"] == 1)
        }
    }

    @Test("A line of exactly the limit is accepted, and one byte more is too long")
    func exactLimit() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(
                sendingTo: scene.collector(), top: ["limits": ["max_line_bytes": 1_024]])
            let client = try await daemon.connect()
            let frame = #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"p":""}}"#
            for (length, isTaken) in [(1_024, true), (1_025, false)] {
                let filler = String(repeating: "x", count: length - frame.utf8.count)
                try await client.send(frame.replacing(#""p":"""#, with: #""p":"\#(filler)""#))
                let answer = try await client.message()
                #expect((answer == Self.pong) == isTaken)
                #expect((answer["error"]["data"]["reason"] == "line_too_long") == !isTaken)
            }
        }
    }

    /// Pieces of one line by length, without CR and LF, and true if the line is accepted.
    struct Pieces: Sendable {
        var lengths: [Int]
        var end: [String]
        var isTaken: Bool
    }

    @Test(
        "The line ending does not count towards the limit, even as CR LF and in any pieces",
        arguments: [
            Pieces(lengths: [1_024], end: ["\r\n"], isTaken: true),
            Pieces(lengths: [1_024], end: ["\r", "\n"], isTaken: true),
            Pieces(lengths: [1_000, 24], end: ["", "\r", "\n"], isTaken: true),
            Pieces(lengths: [1_025], end: ["\r\n"], isTaken: false),
            Pieces(lengths: [1_024], end: ["\rx", "\n"], isTaken: false),
            // Such a line is refused at once, before its LF arrives.
            Pieces(lengths: [500, 500, 25], end: [""], isTaken: false),
        ])
    func endsOfLines(pieces: Pieces) async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(
                sendingTo: scene.collector(), top: ["limits": ["max_line_bytes": 1_024]])
            let (client, other) = (try await daemon.connect(), try await daemon.connect())
            for piece in Self.line(pieces.lengths) + pieces.end {
                try await client.send(bytes: Array(piece.utf8))
                // The daemon has read earlier input of this client when it answers a later request of another.
                _ = try await other.result("ping")
            }
            let answer = try await client.message()
            #expect((answer == Self.pong) == pieces.isTaken)
            #expect((answer["error"]["data"]["reason"] == "line_too_long") == !pieces.isTaken)
            try await client.send(pieces.end == [""] ? "\n" + Self.ping : Self.ping)
            #expect(try await client.message() == Self.pong)
        }
    }

    /// Returns a ping cut into pieces of the given lengths.
    private static func line(_ lengths: [Int]) -> [String] {
        let frame = #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"p":""}}"#
        let filler = String(repeating: "x", count: lengths.reduce(0, +) - frame.utf8.count)
        var rest = frame.replacing(#""p":"""#, with: #""p":"\#(filler)""#)[...]
        return lengths.map { length in
            defer { rest = rest.dropFirst(length) }
            return String(rest.prefix(length))
        }
    }

    @Test("X2: nesting over max_depth is refused as limit with id null and counted, and nesting up to it is accepted")
    func depth() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector(), top: ["limits": ["max_depth": 10]])
            let client = try await daemon.connect()
            // The request, its params and data are three levels.
            for (levels, isTaken) in [(7, true), (8, false), (5_000, false)] {
                let nested = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
                try await client.send(
                    #"{"jsonrpc":"2.0","id":1,"method":"track","params":{"event":"x","data":{"d":\#(nested)}}}"#)
                let answer = try await client.message()
                #expect((answer["result"]["seq"] != .null) == isTaken, "\(levels) levels")
                guard !isTaken else { continue }
                #expect(answer["id"] == .null)
                #expect(answer["error"]["code"] == -32000)
                #expect(answer["error"]["data"]["reason"] == "limit")
            }
            #expect(try await client.result("status")["counters"]["limited"] == 2)
        }
    }
}
