import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateServer

/// Tests that long strings and numbers, which are expensive to parse, are refused by their length (Behaviour X3).
@Suite("Long strings and numbers", .timeLimit(.minutes(5)))
struct LongWordTests {
    /// A text of 200 000 bytes that Swift would have to normalize for a comparison.
    private static let accents = "a" + String(repeating: "\u{301}\u{323}", count: 50_000)

    @Test("X3: an unknown method with a very long name is refused with a short message")
    func method() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let error = try await client.refusal(String(repeating: "x", count: 200_000))
            #expect(error.code == -32601 && error.message.utf8.count < 400)
            try await client.call("ping")
        }
    }

    @Test("X3: a very long string in any declared member of any method is refused with its path and a short message")
    func members() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            var checked = 0
            for method in MethodTable.all {
                for text in Schema.object(method.params).texts {
                    let sample = Schema.object(method.params).sample(with: .string(Self.accents), at: text.steps)
                    guard case .object(let params) = sample else { continue }
                    let name = method.name.description
                    let error = try await client.refusal(name, params)
                    #expect(error.code == -32602 && error.data["path"] == .string(text.path), "\(name) \(text.path)")
                    #expect(error.message.utf8.count < 400, "\(name) \(text.path)")
                    checked += 1
                }
            }
            #expect(checked > 40)
        }
    }

    @Test("P2, X3: an event's name has the same length limit as its id and key, also with JSON escapes")
    func eventName() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let longest = String(repeating: "x", count: Limits.longestWord)
            try await client.call("track", ["event": .string(longest)])
            for name in ["", longest + "x", String(repeating: "\u{1}", count: Limits.longestWord / 6 + 1)] {
                let error = try await client.refusal("track", ["event": .string(name)])
                #expect(error.code == -32602 && error.data["path"] == "event")
                let many: DataObject = ["events": [["event": "x"], ["event": .string(name)]]]
                #expect(try await client.refusal("track_many", many).data["path"] == "events[1].event")
            }
            #expect(try await stage.inspect { $0.gate.events.lastSequenceNumber } == 1)
        }
    }

    @Test("X3: a number with very many digits is refused as an integer; short spellings of an integer are accepted")
    func numbers() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let long = try DataItem(parsing: Array(("1" + String(repeating: "0", count: 500_000)).utf8))
            let error = try await client.refusal("track", ["event": "x", "ttl_ms": long])
            #expect(error.data["path"] == "ttl_ms")
            for text in ["7e3", "7000.0", "7000"] {
                try await client.call("track", ["event": "x", "ttl_ms": try DataItem(parsing: Array(text.utf8))])
            }
        }
    }
}

// MARK: Schemas

/// The path to a string within params.
private struct TextPath {
    var steps: [String]
    /// The path as errors write it.
    var path: String { steps.reduce("") { $0 + ($0.isEmpty || $1 == "[0]" ? "" : ".") + $1 } }
}

extension Schema {
    /// The paths to all strings in values of this schema. Of an array only the first element has a path.
    fileprivate var texts: [TextPath] {
        switch self {
        case .string, .time, .words: [TextPath(steps: [])]
        case .object(let members):
            members.flatMap { member in member.schema.texts.map { TextPath(steps: [member.name] + $0.steps) } }
        case .array(let element, _): element.texts.map { TextPath(steps: ["[0]"] + $0.steps) }
        case .either(let schemas): schemas.first.map(\.texts) ?? []
        case .named(_, let schema): schema.texts
        case .any, .null, .bool, .integer, .number, .dictionary: []
        }
    }

    /// Returns a valid value in which the string at this path is replaced.
    fileprivate func sample(with text: DataItem? = nil, at steps: [String] = []) -> DataItem {
        let rest = Array(steps.dropFirst())
        switch self {
        case .string(let least, _): return text ?? .string(String(repeating: "x", count: max(1, least)))
        case .time: return text ?? "2026-01-01T00:00:00Z"
        case .words(let words): return text ?? .string(words[0])
        case .integer(let least, _): return .number(DataNumber(max(1, least ?? 1)))
        case .number: return 1
        case .bool: return true
        case .null: return .null
        case .any, .dictionary: return [:]
        case .named(_, let schema): return schema.sample(with: text, at: steps)
        case .either(let schemas): return schemas.first?.sample(with: text, at: steps) ?? .null
        case .array(let element, let least):
            let own = text.map { [element.sample(with: $0, at: rest)] } ?? []
            return .array(own + (own.count..<max(own.count, least)).map { _ in element.sample() })
        case .object(let members):
            let present = members.filter { $0.isRequired || $0.name == steps.first }
            return .object(
                DataObject(
                    present.map { member in
                        let isOnPath = text != nil && member.name == steps.first
                        return (member.name, member.schema.sample(with: isOnPath ? text : nil, at: rest))
                    }))
        }
    }
}
