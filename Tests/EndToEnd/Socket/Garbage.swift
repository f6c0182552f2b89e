import Testing

/// Bytes that are no message, of one kind or another.
enum Garbage: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case nothing, random, zeros, badUTF8, overlongUTF8, deepNesting, deepObjects, longLine, halfMessage, hugeNumbers,
        otherProtocol
    case answers, cutInTwo

    var testDescription: String { rawValue }

    /// Whether it leaves the connection at a place where a line feed makes a fresh start.
    var isLines: Bool { self != .nothing }

    /// Some of it; another seed, other bytes where they are random.
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
