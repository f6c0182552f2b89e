import Foundation

/// A JSON value as the tests write and read it.
///
/// It knows neither the order of keys nor more digits than a `Double` has: where these matter a test looks at the raw text.
indirect enum JSON: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// Reads one JSON text.
    init(parsing text: String) throws {
        self.init(try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed))
    }

    /// What Foundation has read. Not through its `Decoder`, which takes a hundred times as long to find out what a value is:
    /// tests read tens of thousands of events.
    private init(_ value: Any) {
        switch value {
        case let text as String: self = .string(text)
        case let members as [String: Any]: self = .object(members.mapValues { JSON($0) })
        case let elements as [Any]: self = .array(elements.map { JSON($0) })
        case let number as NSNumber:
            // A truth value is a number of type `char`; no number that was read is.
            self =
                number.objCType.pointee == CChar(bitPattern: UInt8(ascii: "c"))
                ? .bool(number.boolValue) : .number(number.doubleValue)
        default: self = .null
        }
    }

    /// The member of that name; `.null` when there is none.
    subscript(name: String) -> JSON {
        get { members[name] ?? .null }
        set { self = .object(members.merging([name: newValue]) { $1 }) }
    }

    /// The element at that place; `.null` when there is none.
    subscript(place: Int) -> JSON {
        elements.indices.contains(place) ? elements[place] : .null
    }

    var string: String? { if case .string(let value) = self { value } else { nil } }
    var double: Double? { if case .number(let value) = self { value } else { nil } }
    var int: Int? { double.flatMap(Int.init(exactly:)) }
    var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    var elements: [JSON] { if case .array(let values) = self { values } else { [] } }
    var members: [String: JSON] { if case .object(let values) = self { values } else { [:] } }
    var isObject: Bool { if case .object = self { true } else { false } }

    /// The strings of an array; empty for anything else.
    var strings: [String] { elements.compactMap(\.string) }

    /// This object with the members of another in place of, or beside, its own.
    func merging(_ other: JSON) -> JSON {
        .object(members.merging(other.members) { $1 })
    }

    /// Whether everything in `part` is in this value too: objects may have further members, all else is equal.
    func contains(_ part: JSON) -> Bool {
        switch (self, part) {
        case (.object(let mine), .object(let theirs)):
            theirs.allSatisfy { mine[$0.key]?.contains($0.value) ?? false }
        case (.array(let mine), .array(let theirs)):
            mine.count == theirs.count && zip(mine, theirs).allSatisfy { $0.contains($1) }
        default:
            self == part
        }
    }
}

extension JSON: CustomStringConvertible {
    /// JSON text without white space and with sorted keys.
    var description: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = (try? encoder.encode(self)) ?? Data()
        return String(decoding: data, as: UTF8.self)
    }
}
