import Foundation
import HeadgateClient
import HeadgateData
import HeadgateSeeds
import Testing

/// Compares ``DataCoder`` with Foundation's coders on random values.
@Suite("Coding of custom types compared with Foundation")
struct DataCoderModelTests {
    @Test("P6: the encoding equals Foundation's, and each decodes the other's", arguments: Seeds.first(50))
    func model(seed: Seed) throws {
        var chance = SeededRandom(seed: seed)
        let value = Drawn.draw(&chance, depth: 3)
        for keys in [DataCoder.KeyNaming.asGiven, .snakeCase] {
            let (coder, encoder, decoder) = coders(keys)
            let ours = try coder.encode(value)
            let json = try encoder.encode(value)
            let theirs = try JSONDecoder().decode(DataItem.self, from: json)
            #expect(try JSONDecoder().decode(DataItem.self, from: Data(ours.json.utf8)) == theirs, "\(seed)")
            #expect(try coder.decode(Drawn.self, from: ours) == value, "\(seed)")
            #expect(try coder.decode(Drawn.self, from: theirs) == value, "\(seed)")
            #expect(try decoder.decode(Drawn.self, from: Data(ours.json.utf8)) == value, "\(seed)")
            #expect(try coder.encode(value).json == ours.json, "\(seed)")
        }
    }

    @Test("A damaged value is rejected at the same path as by Foundation", arguments: Seeds.first(150))
    func broken(seed: Seed) throws {
        var chance = SeededRandom(seed: seed)
        let (coder, _, decoder) = coders(.asGiven)
        let item = try coder.encode(Drawn.draw(&chance, depth: 2)).broken(&chance)
        let ours = Result { try coder.decode(Drawn.self, from: item) }
        let theirs = Result { try decoder.decode(Drawn.self, from: Data(item.json.utf8)) }
        switch (ours, theirs) {
        case (.success(let ours), .success(let theirs)): #expect(ours == theirs, "\(seed)")
        case (.failure(let ours as DecodingError), .failure(let theirs as DecodingError)):
            // Foundation does not report the path of a number that does not fit its type.
            #expect(theirs.keyPath.isEmpty || ours.keyPath == theirs.keyPath, "\(seed): \(ours) \(theirs)")
        default: Issue.record("\(seed): \(ours) \(theirs) \(item.json)")
        }
    }

    private func coders(_ keys: DataCoder.KeyNaming) -> (DataCoder, JSONEncoder, JSONDecoder) {
        let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
        encoder.dateEncodingStrategy = .secondsSince1970
        decoder.dateDecodingStrategy = .secondsSince1970
        if keys == .snakeCase {
            encoder.keyEncodingStrategy = .convertToSnakeCase
            decoder.keyDecodingStrategy = .convertFromSnakeCase
        }
        return (DataCoder(keys: keys, dates: .secondsSince1970), encoder, decoder)
    }
}

/// A random value of every kind of type that a program can declare.
private struct Drawn: Codable, Equatable {
    enum Choice: Codable, Equatable {
        case nothing
        case twoNumbers(first: Int, secondOne: Double?)
        case unnamed(String, Bool)
    }

    enum Color: String, Codable, CaseIterable, Hashable {
        case red, darkGreen
    }

    struct Pair: Codable, Equatable {
        var left: Int16
        var right: UInt64

        init(left: Int16, right: UInt64) {
            self.left = left
            self.right = right
        }

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            left = try container.decode(Int16.self)
            var inner = try container.nestedUnkeyedContainer()
            right = try inner.decode(UInt64.self)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            try container.encode(left)
            var inner = container.nestedUnkeyedContainer()
            try inner.encode(right)
        }
    }

    var isLast: Bool
    var shortText: String
    var maybe: Int?
    var whole: Int64
    var fraction: Double
    var narrow: Float
    var price: Decimal
    var at: Date
    var link: URL
    var rawBytes: Data
    var name: UUID
    var choice: Choice
    var byName: [String: [Int?]]
    var byNumber: [Int: String]
    var byColor: [Color: Int]
    var pairs: [Pair]
    var insideOut: [Drawn]

    static func draw(_ chance: inout SeededRandom, depth: Int) -> Drawn {
        let count = depth > 0 ? Int.random(in: 0...2, using: &chance) : 0
        return Drawn(
            isLast: .random(using: &chance), shortText: text(&chance),
            maybe: .random(using: &chance) ? .random(in: (.min)...(.max), using: &chance) : nil,
            whole: edge(&chance), fraction: fraction(&chance),
            narrow: Float.random(in: -1e6...1e6, using: &chance),
            price: Decimal(Int.random(in: -1_000_000...1_000_000, using: &chance)) / 100,
            at: Date(
                timeIntervalSinceReferenceDate: Double(Int.random(in: -8_000_000_000...8_000_000_000, using: &chance))
                    / 8),
            link: URL(string: "https://example.org/\(Int.random(in: 0...99, using: &chance))?q=a%20b")!,  // it is a URL
            rawBytes: Data(
                (0..<Int.random(in: 0...9, using: &chance)).map { _ in .random(in: 0...255, using: &chance) }),
            name: UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, .random(in: 0...255, using: &chance))),
            choice: choice(&chance),
            byName: Dictionary((0..<count).map { (text(&chance) + "\($0)", [$0, nil]) }) { first, _ in first },
            byNumber: Dictionary((0..<count).map { ($0 - 1, text(&chance)) }) { first, _ in first },
            byColor: chance.oneIn(2) ? [:] : [chance.oneIn(2) ? .red : .darkGreen: count],
            pairs: (0..<count).map { _ in Pair(left: edge(&chance), right: edge(&chance)) },
            insideOut: (0..<count).map { _ in draw(&chance, depth: depth - 1) })
    }

    private static func edge<Whole: FixedWidthInteger>(_ chance: inout SeededRandom) -> Whole {
        [.min, .max, 0, 1, .random(in: (.min)...(.max), using: &chance)].randomElement(using: &chance) ?? 0
    }

    private static func fraction(_ chance: inout SeededRandom) -> Double {
        let drawn = Double(bitPattern: .random(in: (.min)...(.max), using: &chance))
        return [0, 0.1, -2.5, 1e21, 1e-300, drawn.isFinite ? drawn : 3].randomElement(using: &chance) ?? 0
    }

    private static func text(_ chance: inout SeededRandom) -> String {
        ["", "a", "twoWords", "\u{0}\"\\/\n", "é e\u{301} 🙂", "snake_case"].randomElement(using: &chance) ?? ""
    }

    private static func choice(_ chance: inout SeededRandom) -> Choice {
        switch Int.random(in: 0...3, using: &chance) {
        case 0: .nothing
        case 1: .twoNumbers(first: edge(&chance), secondOne: fraction(&chance))
        case 2: .twoNumbers(first: edge(&chance), secondOne: nil)
        default: .unnamed(text(&chance), .random(using: &chance))
        }
    }
}

extension DataItem {
    /// Returns a copy with one part removed or replaced by another type.
    fileprivate func broken(_ chance: inout SeededRandom) -> DataItem {
        switch self {
        case .object(var object) where !object.isEmpty:
            let key = object.keys.randomElement(using: &chance) ?? ""
            object[key] = chance.oneIn(4) ? nil : object[key]?.broken(&chance)
            return .object(object)
        case .array(var items) where !items.isEmpty:
            let index = Int.random(in: 0..<items.count, using: &chance)
            if chance.oneIn(4) { items.remove(at: index) } else { items[index] = items[index].broken(&chance) }
            return .array(items)
        default:
            let others: [DataItem] = [nil, true, 7, -1, 3.5, 1e15, "text", [], [1], [:], ["a": 1]]
            return others.randomElement(using: &chance) ?? .null
        }
    }
}

extension DecodingError {
    /// The path of the error, including the key of a missing member.
    fileprivate var keyPath: [String] {
        switch self {
        case .keyNotFound(let key, let context): context.codingPath.map(\.stringValue) + [key.stringValue]
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            context.codingPath.map(\.stringValue)
        @unknown default: []
        }
    }
}
