import HeadgateData
import Testing

@testable import HeadgateWire

@Suite("Reading params")
struct ParameterTests {
    enum Door: String, CaseIterable {
        case open, closed
    }

    struct Person: Equatable {
        var name: String
        var age: Int?
    }

    static let person = Shape.object(Field("name", .string(1...5)), Field(optional: "age", .integer(0...150))) {
        Person(name: $0, age: $1)
    }

    static let params = #"""
        {"id":"d1","count":3,"ratio":0.5,"on":true,"nothing":null,"way":"closed","more":{"a":[1]},"names":["a","b"],
         "mixed":["a",1],"none":[],"who":{"name":"Ada","other":1},"all":[{"name":"Ada","age":36},{"name":"Grace"}],
         "odd":[{"name":"Ada"},{"name":5},7],"day":86400000,"long":86400001}
        """#

    @Test("Valid params are read")
    func reads() throws {
        #expect(try read(Field("id", .string)) == "d1")
        #expect(try read(Field("id", .string(2...2))) == "d1")
        #expect(try read(Field("count", .integer)) == 3)
        #expect(try read(Field("count", .integer(3...3))) == 3)
        #expect(try read(Field("count", .integer(3...))) == 3)
        #expect(try read(Field("on", .bool)))
        #expect(try read(Field("way", Shape<Door>.word)) == .closed)
        #expect(try read(Field("day", .milliseconds(atLeast: 0))) == .seconds(86_400))
        #expect(try read(Field("more", .object)) == ["a": [1]])
        #expect(try read(Field("nothing", .any)) == .null)
        #expect(try read(Field("names", .array(of: .string))) == ["a", "b"])
        #expect(try read(Field("none", .array(of: .string))) == [])
        #expect(try read(Field("who", Self.person)) == Person(name: "Ada"))
        let count = Shape<[Person]>.array(of: Self.person).map { $0.count }
        #expect(try read(Field("all", count)) == 2)
    }

    @Test("A missing optional field is nil or its default, which equals the documented default")
    func leftOut() throws {
        #expect(try read(Field(optional: "absent", .string)) == nil)
        #expect(try read(Field(optional: "absent", default: true)))
        #expect(try read(Field(optional: "count", .integer, default: 7)) == 3)
        try expectDefault(Field(optional: "absent", default: true), .bool)
        try expectDefault(Field(optional: "absent", .integer, default: 7), .integer)
        try expectDefault(Field(optional: "absent", default: Door.open), .word)
        try expectDefault(
            Field(optional: "absent", .milliseconds(atLeast: 0), default: .seconds(2)), .milliseconds(atLeast: 0))
    }

    @Test("Protocol, Framing: missing and wrong params are reported with their path")
    func reportsPaths() {
        #expect(fault(Field("absent", .string)) == "absent: is missing")
        #expect(fault(Field("count", .string)) == "count: must be a string")
        #expect(fault(Field("id", .string(3...9))) == "id: must have 3 to 9 bytes")
        #expect(fault(Field("id", .string(1...9, problem: { "\($0)?" }))) == "id: d1?")
        #expect(fault(Field("ratio", .integer)) == "ratio: must be a whole number")
        #expect(fault(Field("count", .integer(4...9))) == "count: must be a whole number from 4 to 9")
        #expect(fault(Field("count", .integer(4...))) == "count: must be a whole number, at least 4")
        #expect(
            fault(Field("long", .milliseconds(atLeast: 1))) == "long: must be a whole number from 1 to 86400000")
        #expect(fault(Field(optional: "nothing", .string)) == "nothing: must be a string")
        #expect(fault(Field(optional: "nothing", default: true)) == "nothing: must be true or false")
        #expect(fault(Field("id", Shape<Door>.word)) == #"id: must be one of "open", "closed""#)
        #expect(fault(Field("on", .object)) == "on: must be an object")
        #expect(fault(Field("id", .array(of: .string))) == "id: must be an array")
        #expect(fault(Field("none", .array(of: .string, atLeast: 1))) == "none: must not be empty")
        #expect(fault(Field("mixed", .array(of: .string))) == "mixed[1]: must be a string")
        #expect(fault(Field("odd", .array(of: Self.person))) == "odd[1].name: must be a string")
        #expect(fault(Field("names", .array(of: Self.person))) == "names[0]: must be an object")
        #expect(fault(Field("more", Self.person)) == "more.name: is missing")
    }

    @Test("Without params required fields are missing")
    func takesNone() {
        #expect(throws: ParameterFault("is missing", path: "id")) { try Field("id", .string).read(nil) }
        #expect(throws: Never.self) { try Field(optional: "id", .string).read(nil) }
    }

    @Test("A schema is written as JSON Schema, including its named schemas")
    func schema() {
        #expect(Shape.string(1...9).schema.item == ["type": "string", "minLength": 1, "maxLength": 9])
        let properties: DataItem = [
            "name": ["type": "string", "minLength": 1, "maxLength": 5],
            "age": ["type": "integer", "minimum": 0, "maximum": 150],
        ]
        #expect(Self.person.schema.item == ["type": "object", "properties": properties, "required": ["name"]])
        let people = Shape.array(of: Self.person.named("Person"), atLeast: 1).schema
        #expect(
            people.item
                == ["type": "array", "items": ["$ref": "#/components/schemas/Person"], "minItems": 1])
        #expect(people.named["Person"]?.item == Self.person.schema.item)
    }

    private func read<Value>(_ field: Field<Value>) throws -> Value {
        var value: Value?
        try GuardedText(Self.params).scan { value = try field.read($0) }
        return try #require(value)
    }

    /// Checks that a missing field has the same value as its documented default.
    private func expectDefault<Value: Equatable>(_ field: Field<Value>, _ shape: Shape<Value>) throws {
        let defaultValue = try #require(field.member.defaultValue)
        var writer = JSONWriter()
        writer.item(defaultValue)
        var reported: Value?
        try GuardedText(writer.text).scan { reported = try shape.read($0) }
        #expect(try read(field) == reported)
    }

    /// Returns the error message for the peer, or nil if there is no error.
    private func fault<Value>(_ field: Field<Value>) -> String? {
        do {
            _ = try read(field)
            return nil
        } catch let fault as ParameterFault {
            let error = RPCError(fault)
            let isPath = error.data == ["path": .string(fault.path)]
            return error.code == RPCError.invalidParamsCode && isPath ? error.message : nil
        } catch {
            return nil
        }
    }
}
