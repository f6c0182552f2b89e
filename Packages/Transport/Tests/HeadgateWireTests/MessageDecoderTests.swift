import HeadgateData
import HeadgateSeeds
import Testing

@testable import HeadgateWire

@Suite("Decoding lines as messages")
struct MessageDecoderTests {
    /// Lines and a short description of each message: kind, id, method or code, params.
    static let lines: [(line: String, expected: String)] = [
        (#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request 1 ping -"),
        (
            #"{"jsonrpc":"2.0","id":"a\n","method":"track","params":{"event":"x"}}"#,
            #"request "a\n" track {"event":"x"}"#
        ),
        (#"{"method":"ping","id":1.50,"params":{},"jsonrpc":"2.0","more":[1]}"#, "request 1.50 ping {}"),
        (#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "request null ping -"),
        (
            #"{"jsonrpc":"\u0032.0","id":123456789012345678901234567890,"method":"p\u0069ng"}"#,
            "request 123456789012345678901234567890 ping -"
        ),
        (#"{"jsonrpc":"2.0","id":1,"method":""}"#, "request 1  -"),
        (#"{"jsonrpc":"2.0","method":"ping"}"#, "notification ping -"),
        (#"{"jsonrpc":"2.0","method":"ping","params":{"a":1}}"#, #"notification ping {"a":1}"#),
        (#"{"jsonrpc":"2.0","id":3,"result":{}}"#, "result 3 {}"),
        (#"{"jsonrpc":"2.0","id":3,"result":null}"#, "result 3 null"),
        (
            #"{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"m","data":{"reason":"limit"}}}"#,
            "failure 3 -32000 m limit"
        ),
        (#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#, "failure null -32700 m -"),
        (#"{"jsonrpc":"2.0","id":3,"error":{}}"#, "failure 3 -32603 unknown error -"),
        (#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"m","data":{"reason":"new_word"}}}"#, "failure 3 1 m -"),
        ("{", "invalid null -32700"), ("", "invalid null -32700"), ("\u{feff}{}", "invalid null -32700"),
        ("{}{}", "invalid null -32700"),
        ("1", "invalid null -32600"), ("null", "invalid null -32600"), (#""x""#, "invalid null -32600"),
        ("[]", "invalid null -32600"), ("{}", "invalid null -32600"),
        (#"{"id":1,"method":"ping"}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":"2.0","id":1}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":"2.0","id":"x","method":5}"#, #"invalid "x" -32600"#),
        (#"{"jsonrpc":"2.0","method":null}"#, "invalid null -32600"),
        (#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, "invalid null -32600"),
        (#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "invalid null -32600"),
        (#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, "invalid null -32600"),
        (#"{"jsonrpc":"2.0"}"#, "invalid null -32600"),
        (#"{"jsonrpc":"2.0","result":1}"#, "invalid null -32600"),
        (#"{"jsonrpc":"2.0","id":3,"result":{},"error":null}"#, "result 3 {}"),
        (#"{"jsonrpc":"2.0","id":3,"result":null,"error":null}"#, "result 3 null"),
        (#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"m"},"result":null}"#, "failure 3 1 m -"),
        (#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#, "invalid response 1 -32600"),
        (#"{"jsonrpc":"2.0","id":1,"result":1,"error":"no"}"#, "invalid response 1 -32600"),
        (#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, "invalid response 1 -32600"),
        (#"{"jsonrpc":"2.0","id":1,"error":null}"#, "invalid response 1 -32600"),
        (#"{"id":1,"result":{},"error":null}"#, "invalid response 1 -32600"),
        (#"{"jsonrpc":"2.0","id":[1],"result":{}}"#, "invalid null -32600"),
        (#"{"jsonrpc":"2.0","id":1,"method":5,"result":{}}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#, "invalid 1 -32602"),
        (#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#, "invalid 1 -32602"),
        (#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#, "invalid 1 -32602"),
        (#"{"jsonrpc":"2.0","method":"ping","params":[1]}"#, "invalid notification -32602"),
        (
            #"[{"jsonrpc":"2.0","id":1,"method":"ping"},1,[],{"jsonrpc":"2.0","method":"ping"}]"#,
            "4: request 1 ping - | invalid null -32600 | invalid null -32600 | notification ping -"
        ),
    ]

    @Test("Protocol, Framing: every line decodes to the expected message", arguments: lines)
    func decodes(line: String, expected: String) {
        #expect(decoded(line.utf8) == expected)
    }

    @Test("Protocol, Framing: nesting that is too deep is the error limit with id null")
    func refusesDepth() {
        let line = #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[[]]}}"#
        #expect(decoded(line.utf8, MessageDecoder(maxDepth: 4)) == #"request 1 ping {"a":[[]]}"#)
        #expect(decoded(line.utf8, MessageDecoder(maxDepth: 3)) == "invalid null -32000 limit")
    }

    @Test("S2: a new depth applies from the next line on, and the rest of a line is handled with the old one")
    func changesDepth() {
        let decoder = MessageDecoder(maxDepth: 5)
        let deep = #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[[]]}}"#
        let described = GuardedText("[\(deep),\(deep)]".utf8).read { line in
            guard case .batch(let batch) = decoder.decode(line) else { return [String]() }
            return batch.map { message in
                decoder.maxDepth = 3
                return describe(message)
            }
        }
        #expect(described == Array(repeating: #"request 1 ping {"a":[[]]}"#, count: 2))
        #expect(decoder.maxDepth == 3)
        #expect(decoded(deep.utf8, decoder) == "invalid null -32000 limit")
        decoder.maxDepth = 4
        #expect(decoded(deep.utf8, decoder) == #"request 1 ping {"a":[[]]}"#)
    }

    @Test("X3: any bytes are a message or an error", arguments: Seeds.first(2))
    func takesAnything(seed: Seed) {
        var random = SeededRandom(seed: seed)
        let decoder = MessageDecoder()
        for _ in 0..<8_000 {
            var bytes = Array(Self.lines.randomElement(using: &random)!.line.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            #expect(!decoded(bytes, decoder).isEmpty)
        }
    }

    private func decoded(_ line: some Collection<UInt8>, _ decoder: MessageDecoder = MessageDecoder()) -> String {
        withExtendedLifetime(decoder) {
            GuardedText(line).read { line in
                switch decoder.decode(line) {
                case .message(let message): describe(message)
                case .batch(let batch): "\(batch.count): " + batch.map(describe).joined(separator: " | ")
                }
            }
        }
    }

    private func describe(_ message: IncomingMessage) -> String {
        switch message {
        case .request(let request):
            "request \(text(request.id.raw)) \(request.method.string ?? "?") \(text(request.params?.raw))"
        case .notification(let notification):
            "notification \(notification.method.string ?? "?") \(text(notification.params?.raw))"
        case .response(let response): describe(response)
        case .invalid(let id, let error):
            (["invalid", id.map { text($0.raw) } ?? "null", "\(error.code)"]
                + (error.reason.map { [$0.rawValue] } ?? []))
                .joined(separator: " ")
        case .invalidNotification(let error): "invalid notification \(error.code)"
        case .invalidResponse(let id, let error): "invalid response \(text(id.raw)) \(error.code)"
        }
    }

    private func describe(_ response: IncomingMessage.Response) -> String {
        switch response.outcome {
        case .result(let result): "result \(text(response.id.raw)) \(text(result.raw))"
        case .failure(let error):
            "failure \(text(response.id.raw)) \(error.code) \(error.message) \(error.reason?.rawValue ?? "-")"
        }
    }

    private func text(_ raw: UnsafeRawBufferPointer?) -> String {
        raw.map { String(decoding: $0, as: UTF8.self) } ?? "-"
    }
}
