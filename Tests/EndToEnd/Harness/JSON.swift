import Foundation

/// A JSON value in the tests.
///
/// It keeps neither the order of members nor more digits than a `Double` has. Tests where these matter compare the raw
/// text.
indirect enum JSON: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// Parses a JSON text.
    init(parsing text: String) throws {
        self.init(try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed))
    }

    /// Converts a value from `JSONSerialization`. Foundation's `Decoder` takes a hundred times as long to determine the
    /// type of a value, and tests read tens of thousands of events.
    private init(_ value: Any) {
        switch value {
        case let text as String: self = .string(text)
        case let members as [String: Any]: self = .object(members.mapValues { JSON($0) })
        case let elements as [Any]: self = .array(elements.map { JSON($0) })
        case let number as NSNumber:
            // A Bool is an NSNumber of type `char`; a parsed number never has that type.
            self =
                number.objCType.pointee == CChar(bitPattern: UInt8(ascii: "c"))
                ? .bool(number.boolValue) : .number(number.doubleValue)
        default: self = .null
        }
    }

    /// The member of that name, or `.null` if there is none.
    subscript(name: String) -> JSON {
        get { members[name] ?? .null }
        set { self = .object(members.merging([name: newValue]) { $1 }) }
    }

    /// The element at that index, or `.null` if there is none.
    subscript(index: Int) -> JSON {
        elements.indices.contains(index) ? elements[index] : .null
    }

    var string: String? { if case .string(let value) = self { value } else { nil } }
    var double: Double? { if case .number(let value) = self { value } else { nil } }
    var int: Int? { double.flatMap(Int.init(exactly:)) }
    var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    var elements: [JSON] { if case .array(let values) = self { values } else { [] } }
    var members: [String: JSON] { if case .object(let values) = self { values } else { [:] } }
    var isObject: Bool { if case .object = self { true } else { false } }

    /// The strings of an array; empty for any other value.
    var strings: [String] { elements.compactMap(\.string) }

    /// Returns the object with the members of another added, which replace members of the same name.
    func merging(_ other: JSON) -> JSON {
        .object(members.merging(other.members) { $1 })
    }

    /// Returns true if the value contains `part`: objects may have further members, everything else must be equal.
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
    /// JSON text without white space, with sorted keys.
    var description: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = (try? encoder.encode(self)) ?? Data()
        return String(decoding: data, as: UTF8.self)
    }
}

extension JSON: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try encode(value, to: &container)
        case .string(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }

    private func encode(_ value: Double, to container: inout any SingleValueEncodingContainer) throws {
        guard let whole = Int(exactly: value) else { return try container.encode(value) }
        try container.encode(whole)
    }
}

// There is no nil literal: in `found ? value : nil` it would be a JSON value instead of nil.
extension JSON: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int) { self = .number(Double(value)) }
    init(floatLiteral value: Double) { self = .number(value) }
    init(stringLiteral value: String) { self = .string(value) }
    init(arrayLiteral elements: JSON...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}

extension JSON {
    init(_ value: Int) { self = .number(Double(value)) }
    init(_ values: [String]) { self = .array(values.map(JSON.string)) }
}

// Regex is not Sendable; these constants never change.

/// A timestamp as the service writes it: RFC 3339 in UTC with milliseconds.
nonisolated(unsafe) let timestampPattern = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/

/// A UUID of version 7 in lower case.
nonisolated(unsafe) let uuid7Pattern = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
