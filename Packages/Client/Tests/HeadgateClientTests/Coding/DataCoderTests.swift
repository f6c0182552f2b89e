import Foundation
import HeadgateClient
import HeadgateData
import Testing

@Suite("Coding of custom types")
struct DataCoderTests {
    struct Signup: Codable, Equatable {
        var plan: String
        var seats: Int
        var coupon: String?
    }

    @Test("P6: properties are encoded as members in order, and decoded again")
    func signup() throws {
        let data = try DataCoder().encodeObject(Signup(plan: "free", seats: 3))
        #expect(DataItem.object(data).json == #"{"plan":"free","seats":3}"#)
        #expect(try data.decode(as: Signup.self) == Signup(plan: "free", seats: 3))
    }

    // MARK: Numbers

    struct Numbers: Codable, Equatable {
        var small = Int8.min
        var large = Int64.min
        var unsigned = UInt64.max
        var widest = UInt128.max
        var lowest = Int128.min
        var double = 0.1
        var float = Float(0.1)
        var decimal = Decimal(string: "-12345678901234567890123456789.012345678")
    }

    @Test("P6: numbers keep their digits")
    func digits() throws {
        let data = try DataCoder().encodeObject(Numbers())
        #expect(
            data.map(\.value.json) == [
                "-128", "-9223372036854775808", "18446744073709551615", "340282366920938463463374607431768211455",
                "-170141183460469231731687303715884105728", "0.1", "0.1", "-12345678901234567890123456789.012345678",
            ])
        #expect(try data.decode(as: Numbers.self) == Numbers())
        #expect(
            DataItem.number(DataNumber(unchecked: "3e38")).get() == UInt128("3" + String(repeating: "0", count: 38)))
    }

    @Test(
        "P6: a Decimal is decoded with all digits or not at all",
        arguments: [
            "0", "-0.00", "5e2", "1e-30", "9.99", "100000", "340282366920938463463374607431768211455", "1.5e127",
        ])
    func decimals(text: String) throws {
        let read = try DataCoder().decode([Decimal].self, from: [.number(DataNumber(unchecked: text))])
        #expect(read == [Decimal(string: text)])
    }

    @Test(
        "A number that does not fit its type is not decoded",
        arguments: [
            ("1.5", "Int"), ("128", "Int8"), ("-1", "UInt"), ("1e400", "Double"), ("1e39", "Float"),
            ("340282366920938463463374607431768211456", "Decimal"), ("1e128", "Decimal"), ("1e-129", "Decimal"),
        ])
    func unfitting(text: String, type: String) throws {
        let types: [String: any Decodable.Type] = [
            "Int": [Int].self, "Int8": [Int8].self, "UInt": [UInt].self, "Double": [Double].self,
            "Float": [Float].self, "Decimal": [Decimal].self,
        ]
        let item: DataItem = [.number(DataNumber(unchecked: text))]
        let expected: any Decodable.Type = try #require(types[type])
        expectFault("Index 0", .dataCorrupted) { try decode(expected, item) }
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ item: DataItem) throws {
        _ = try DataCoder().decode(type, from: item)
    }

    @Test("Infinity and NaN are not encoded", arguments: [Double.nan, .infinity, -.infinity])
    func infinite(value: Double) {
        expectRefusal(at: "a.Index 1") { try DataCoder().encode(["a": [0, value]]) }
        expectRefusal(at: "a.Index 0") { try DataCoder().encode(["a": [Float(value)]]) }
        expectRefusal(at: "a") { try DataCoder().encode(["a": Decimal.nan]) }
    }

    // MARK: Moments

    struct Moments: Codable, Equatable {
        var date: Date
        var timestamp: Timestamp
    }

    @Test(
        "A date is encoded in the selected format",
        arguments: [
            (
                DataCoder.DateForm.rfc3339,
                #"{"date":"1969-12-31T23:59:58.750Z","timestamp":"2026-11-20T09:41:55.123Z"}"#
            ),
            (.secondsSince1970, #"{"date":-1.25,"timestamp":1795167715.123}"#),
            (.millisecondsSince1970, #"{"date":-1250,"timestamp":1795167715123}"#),
            (.asItself, #"{"date":-978307201.25,"timestamp":"2026-11-20T09:41:55.123Z"}"#),
        ])
    func moments(form: DataCoder.DateForm, json: String) throws {
        let moments = Moments(
            date: Date(timeIntervalSince1970: -1.25), timestamp: Timestamp(milliseconds: 1_795_167_715_123))
        let coder = DataCoder(dates: form)
        let item = try coder.encode(moments)
        #expect(item.json == json)
        #expect(try coder.decode(Moments.self, from: item) == moments)
    }

    @Test(
        "A date is encoded to the nearest millisecond",
        arguments: [(0.1234, ".123Z"), (0.1236, ".124Z"), (-0.1, ".900Z")])
    func rounding(seconds: Double, reported: String) throws {
        let item = try DataCoder().encode([Date(timeIntervalSince1970: seconds)])
        #expect(item.elements.first?.get(as: String.self)?.hasSuffix(reported) == true)
    }

    @Test("An invalid date is rejected")
    func noMoments() {
        let outside = Timestamp(milliseconds: Timestamp.expressible.upperBound.milliseconds + 1)
        expectRefusal(at: "at") { try DataCoder().encode(["at": outside]) }
        expectRefusal(at: "at") { try DataCoder().encode(["at": Date.distantFuture.addingTimeInterval(3e11)]) }
        expectRefusal(at: "at") { try DataCoder().encode(["at": Date(timeIntervalSince1970: .infinity)]) }
        expectFault("Index 0", .dataCorrupted) { try DataCoder().decode([Date].self, from: ["yesterday"]) }
        expectFault("Index 0", .typeMismatch) { try DataCoder().decode([Timestamp].self, from: [7]) }
        expectFault("Index 0", .dataCorrupted) {
            try DataCoder(dates: .secondsSince1970).decode([Date].self, from: [1e300])
        }
    }

    // MARK: Other types of Foundation

    struct Others: Codable, Equatable {
        var url = URL(string: "https://example.org/a?b=c")
        var uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
        var bytes = Data([0xFF, 0, 0x7F, 0x80])
    }

    @Test("URLs and UUIDs are strings, data is base64")
    func others() throws {
        let item = try DataCoder(keys: .snakeCase).encode(Others())
        #expect(
            item.json
                == #"{"url":"https://example.org/a?b=c","uuid":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F","bytes":"/wB/gA=="}"#
        )
        #expect(try DataCoder(keys: .snakeCase).decode(Others.self, from: item) == Others())
        expectFault("Index 0", .dataCorrupted) { try DataCoder().decode([Data].self, from: ["/wB/gA="]) }
        expectRefusal(at: "Index 0") {
            try DataCoder().encode([URL(string: "a", relativeTo: URL(string: "https://example.org"))])
        }
    }

    // MARK: Names

    @Test(
        "Names in snake case",
        arguments: [
            ("seats", "seats"), ("seatCount", "seat_count"), ("imageURL", "image_url"),
            ("myURLProperty", "my_url_property"),
            ("_hidden", "_hidden"), ("isHTTP2On", "is_http2_on"), ("already_there", "already_there"), ("x", "x"),
            ("", ""),
        ])
    func snakeCase(name: String, snake: String) throws {
        struct Named: Codable {
            var key: AnyKey
            init(_ key: AnyKey) { self.key = key }
            init(from decoder: any Decoder) throws {
                key = AnyKey("")
                _ = try decoder.container(keyedBy: AnyKey.self)
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: AnyKey.self)
                try container.encode(1, forKey: key)
            }
        }
        #expect(try DataCoder(keys: .snakeCase).encodeObject(Named(AnyKey(name))).keys == [snake])
        #expect(try DataCoder().encodeObject(Named(AnyKey(name))).keys == [name])
    }

    struct Visit: Codable, Equatable {
        enum Origin: Codable, Equatable {
            case direct
            case searchEngine(siteName: String, Int?)
        }
        var pageURL: String
        var cameFrom: Origin
        var labels: [String: Int]
    }

    @Test("Key naming applies to encoding and decoding, but not to dictionary keys")
    func naming() throws {
        let visit = Visit(
            pageURL: "/", cameFrom: .searchEngine(siteName: "s", nil), labels: ["twoWords": 2, "One": 1, "is_snake": 3])
        let item = try DataCoder(keys: .snakeCase).encode(visit)
        #expect(
            item.json == #"{"page_url":"/","came_from":{"search_engine":{"site_name":"s"}},"#
                + #""labels":{"One":1,"is_snake":3,"twoWords":2}}"#)
        #expect(try DataCoder(keys: .snakeCase).decode(Visit.self, from: item) == visit)
        expectFault("", .keyNotFound) { try DataCoder().decode(Visit.self, from: item) }
    }

    // MARK: Depth

    /// Encodes itself inside itself without end.
    struct Endless: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            try container.encode(self)
        }
    }

    /// Encodes `levels` arrays inside each other.
    struct Nested: Encodable {
        var levels: Int
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            for _ in 1..<levels { container = container.nestedUnkeyedContainer() }
        }
    }

    @Test("Nesting that is too deep is rejected, in any form")
    func depth() throws {
        expectRefusal(at: "Index 0.Index 0.Index 0") { try DataCoder(maxDepth: 3).encode(Endless()) }
        let levels = [3: "[[[]]]", 4: nil]
        for (count, json) in levels {
            let coder = DataCoder(maxDepth: 3)
            let item: DataItem = count == 3 ? [[[]]] : [[[[]]]]
            #expect((try? coder.encode(Nested(levels: count)))?.json == json)
            #expect((try? coder.encode(item))?.json == json)
            #expect((try? coder.encode([[item.elements[0].elements[0]]]))?.json == json)
            let object = try? DataCoder(maxDepth: count - 1).encode(["a": item])
            #expect(object == nil)
        }
    }

    // MARK: Faults of types

    @Test("An event's data is an object")
    func noObject() throws {
        expectRefusal(at: "") { try DataCoder().encodeObject(7) }
        expectRefusal(at: "") { try DataCoder().encodeObject([7]) }
        expectRefusal(at: "") { try DataCoder().encodeObject(String?.none) }
        struct Nothing: Encodable {
            func encode(to encoder: any Encoder) {}
        }
        #expect(try DataCoder().encodeObject(Nothing()).isEmpty)
        #expect(try DataCoder().encodeObject(Signup?.some(Signup(plan: "a", seats: 1))).count == 2)
    }

    struct Refusing: Codable, Error, Equatable {
        init() {}
        init(from decoder: any Decoder) throws { throw Refusing() }
        func encode(to encoder: any Encoder) throws { throw Refusing() }
    }

    @Test("Errors of a type are rethrown")
    func throwing() {
        #expect(throws: Refusing()) { try DataCoder().encode(["a": Refusing()]) }
        #expect(throws: Refusing()) { try DataCoder().decode([Refusing].self, from: [1]) }
    }

    struct Twice: Encodable {
        var encode: @Sendable (any Encoder) throws -> Void
        func encode(to encoder: any Encoder) throws { try encode(encoder) }
    }

    @Test("A type that encodes two values at one path is rejected without a crash")
    func twice() {
        let mistakes: [@Sendable (any Encoder) throws -> Void] = [
            { encoder in
                var container = encoder.singleValueContainer()
                try container.encode(1)
                try container.encode(2)
            },
            { encoder in
                _ = encoder.container(keyedBy: AnyKey.self)
                var container = encoder.unkeyedContainer()
                try container.encode(1)
            },
            { encoder in
                _ = encoder.unkeyedContainer()
                var container = encoder.singleValueContainer()
                try container.encodeNil()
            },
        ]
        for mistake in mistakes { expectRefusal(at: "Index 0") { try DataCoder().encode([Twice(encode: mistake)]) } }
    }

    // MARK: Faults of data

    @Test("Missing members, wrong types and nulls are reported with their path")
    func faults() {
        let coder = DataCoder()
        expectFault("", .keyNotFound) { try coder.decode(Signup.self, from: ["plan": "a"]) }
        expectFault("seats", .typeMismatch) { try coder.decode(Signup.self, from: ["plan": "a", "seats": "3"]) }
        expectFault("seats", .valueNotFound) { try coder.decode(Signup.self, from: ["plan": "a", "seats": nil]) }
        expectFault("Index 1.plan", .typeMismatch) {
            try coder.decode([Signup].self, from: [["plan": "a", "seats": 1], ["plan": true, "seats": 1]])
        }
        expectFault("a", .typeMismatch) { try coder.decode([String: [Int]].self, from: ["a": [:]]) }
        expectFault("Index 0", .typeMismatch) { try coder.decode([Signup].self, from: [[]]) }
        expectFault("Index 0", .typeMismatch) { try coder.decode([Bool].self, from: [1]) }
    }

    @Test("Unknown members are ignored, and null counts as missing")
    func passedOver() throws {
        let item: DataItem = ["more": [1], "plan": "a", "seats": 7.0, "coupon": nil]
        #expect(try DataCoder().decode(from: item) == Signup(plan: "a", seats: 7))
    }
}

/// A coding key with any name.
struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) {
        stringValue = name
    }

    init?(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) {
        nil
    }
}

extension DataItem {
    var elements: [DataItem] {
        if case .array(let items) = self { items } else { [] }
    }
}

private func path(_ keys: [any CodingKey]) -> String {
    keys.map(\.stringValue).joined(separator: ".")
}

func expectRefusal<Value>(
    at expectedPath: String, sourceLocation: SourceLocation = #_sourceLocation, _ encode: () throws -> Value
) {
    let error = #expect(throws: EncodingError.self, sourceLocation: sourceLocation) { _ = try encode() }
    guard case .invalidValue(_, let context)? = error else { return }
    #expect(path(context.codingPath) == expectedPath, sourceLocation: sourceLocation)
}

enum DecodingFault {
    case keyNotFound, typeMismatch, valueNotFound, dataCorrupted
}

func expectFault<Value>(
    _ expectedPath: String, _ fault: DecodingFault, sourceLocation: SourceLocation = #_sourceLocation,
    _ decode: () throws -> Value
) {
    let error = #expect(throws: DecodingError.self, sourceLocation: sourceLocation) { _ = try decode() }
    let found: (DecodingFault, DecodingError.Context)? =
        switch error {
        case .keyNotFound(_, let context)?: (.keyNotFound, context)
        case .typeMismatch(_, let context)?: (.typeMismatch, context)
        case .valueNotFound(_, let context)?: (.valueNotFound, context)
        case .dataCorrupted(let context)?: (.dataCorrupted, context)
        default: nil
        }
    #expect(found?.0 == fault, sourceLocation: sourceLocation)
    #expect(found.map { path($0.1.codingPath) } == expectedPath, sourceLocation: sourceLocation)
}
