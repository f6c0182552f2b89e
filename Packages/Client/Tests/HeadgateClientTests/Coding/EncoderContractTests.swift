import Foundation
import HeadgateClient
import HeadgateData
import Testing

/// The contract that Swift documents for every `Encoder` and `Decoder`.
@Suite("Containers of encoders and decoders")
struct EncoderContractTests {
    class Base: Codable {
        var id = 1
        init() {}
    }

    final class Derived: Base {
        var label = "b"
        private enum Keys: String, CodingKey { case label, parent }

        override init() { super.init() }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            label = try container.decode(String.self, forKey: .label)
            try super.init(from: container.superDecoder())
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(label, forKey: .label)
            try super.encode(to: container.superEncoder())
        }
    }

    @Test("A superclass is encoded under super")
    func superclass() throws {
        let item = try DataCoder().encode(Derived())
        #expect(item.json == #"{"label":"b","super":{"id":1}}"#)
        let read = try DataCoder().decode(Derived.self, from: ["label": "c", "super": ["id": 7]])
        #expect(read.label == "c" && read.id == 7)
        expectFault("super", .valueNotFound) { try DataCoder().decode(Derived.self, from: ["label": "c"]) }
    }

    /// Uses every method of the encoding containers.
    struct Everything: Encodable {
        func encode(to encoder: any Encoder) throws {
            var outer = encoder.container(keyedBy: AnyKey.self)
            var first = outer.nestedUnkeyedContainer(forKey: AnyKey("list"))
            try outer.encodeNil(forKey: AnyKey("none"))
            try outer.encodeIfPresent(Int?.none, forKey: AnyKey("absent"))
            // The first container is filled last, and keeps its position.
            try first.encodeNil()
            try first.encode(contentsOf: [true, false])
            var members = first.nestedContainer(keyedBy: AnyKey.self)
            try members.encode(Int128(1), forKey: AnyKey("wide"))
            var inner = first.nestedUnkeyedContainer()
            try inner.encode(UInt128(2))
            try "text".encode(to: first.superEncoder())
            try first.encode(first.count)
            _ = outer.superEncoder(forKey: AnyKey("nothing"))
            var again = encoder.container(keyedBy: AnyKey.self)
            try again.encode(path(encoder), forKey: AnyKey("path"))
            try outer.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("deep")).superEncoderPath(into: &again)
        }

        private func path(_ encoder: any Encoder) -> String {
            encoder.codingPath.map(\.stringValue).joined(separator: ".")
        }
    }

    @Test("Nested containers may be filled in any order, and a container may be requested again")
    func everything() throws {
        #expect(
            try DataCoder().encode(["x": Everything()]).json
                == #"{"x":{"list":[null,true,false,{"wide":1},[2],"text",6],"none":null,"nothing":{},"path":"x","#
                + #""deep":{"super":{}},"inner":"x.deep.super"}}"#)
    }

    /// Reads the elements of an array, whatever their types.
    struct Elements: Decodable, Equatable {
        var read: [String] = []

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            read.append("of \(container.count ?? -1)")
            while !container.isAtEnd {
                if try container.decodeNil() {
                    read.append("nil")
                } else if let number = try? container.decode(Int.self) {
                    read.append("\(number)")
                } else if let members = try? container.nestedContainer(keyedBy: AnyKey.self) {
                    read.append(members.allKeys.map(\.stringValue).joined(separator: ","))
                } else if var inner = try? container.nestedUnkeyedContainer() {
                    read.append("[\(try inner.decode(String.self))]")
                } else {
                    read.append(try String(from: container.superDecoder()))
                }
            }
            read.append("\(container.currentIndex)")
        }
    }

    @Test("After a failed decode an element can be decoded as another type, and none follows the last")
    func elements() throws {
        let item: DataItem = [nil, 7, ["a": 1, "b": 2], ["inner"], "last"]
        #expect(
            try DataCoder().decode(Elements.self, from: item).read == [
                "of 5", "nil", "7", "a,b", "[inner]", "last", "5",
            ])
        expectFault("Index 2.Index 0", .valueNotFound) { try DataCoder().decode(Elements.self, from: [nil, 7, []]) }
    }

    struct Reporting: Codable {
        static let key = CodingUserInfoKey(rawValue: "told")

        var reported: String

        init() { reported = "" }

        init(from decoder: any Decoder) throws {
            reported = Reporting.key.flatMap { decoder.userInfo[$0] as? String } ?? "none"
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(Reporting.key.flatMap { encoder.userInfo[$0] as? String })
        }
    }

    @Test("The coder's userInfo is available to types")
    func userInfo() throws {
        let key = try #require(Reporting.key)
        let coder = DataCoder(userInfo: [key: "this"])
        #expect(try coder.encode([Reporting()]).json == #"["this"]"#)
        #expect(try DataCoder().encode([Reporting()]).json == "[null]")
        #expect(try coder.decode([Reporting].self, from: [1]).map(\.reported) == ["this"])
    }

    struct Free: Codable, Equatable {
        var any: DataItem
        var object: DataObject
        var number: DataNumber
    }

    @Test("P6: JSON values inside a value are kept unchanged, also with other coders")
    func pass() throws {
        let free = Free(
            any: ["b": [nil, 1.0], "a": true], object: ["z": 1, "aB": [:]], number: DataNumber(unchecked: "1.50e3"))
        let item = try DataCoder(keys: .snakeCase).encode(free)
        #expect(item.json == #"{"any":{"b":[null,1.0],"a":true},"object":{"z":1,"aB":{}},"number":1.50e3}"#)
        #expect(try DataCoder(keys: .snakeCase).decode(from: item) == free)
        let other = try JSONDecoder().decode(Free.self, from: JSONEncoder().encode(free))
        #expect(other.object == free.object && other.any == ["b": [nil, 1], "a": true] && other.number.int == 1_500)
    }

    @Test("With other coders timestamps are RFC 3339, and numbers beyond a Double are rejected")
    func otherCoders() throws {
        let moment = Timestamp(milliseconds: 1_795_167_715_123)
        let json = try JSONEncoder().encode([moment])
        #expect(String(decoding: json, as: UTF8.self) == #"["2026-11-20T09:41:55.123Z"]"#)
        #expect(try JSONDecoder().decode([Timestamp].self, from: json) == [moment])
        expectFault("Index 0", .dataCorrupted) {
            try JSONDecoder().decode([Timestamp].self, from: Data(#"["now"]"#.utf8))
        }
        expectRefusal(at: "Index 0") { try JSONEncoder().encode([DataNumber(unchecked: "1e400")]) }
        let large = DataNumber(UInt64.max)
        #expect(try JSONDecoder().decode([DataNumber].self, from: JSONEncoder().encode([large])) == [large])
    }
}

extension KeyedEncodingContainer where Key == AnyKey {
    fileprivate func superEncoderPath(into other: inout KeyedEncodingContainer) throws {
        var own = self
        try other.encode(
            own.superEncoder().codingPath.map(\.stringValue).joined(separator: "."), forKey: AnyKey("inner"))
    }
}
