import HeadgateData
import Testing

@testable import HeadgateWire

@Suite("Writing results")
struct OutputShapeTests {
    enum Door: String, CaseIterable {
        case open, closed
    }

    struct Person {
        var name: String
        var age: Int?
        var door = Door.open
        var friends: [Person] = []
        var seats: [(key: String, value: UInt32)] = []
    }

    private static let friend = OutputMembers<Person>.required("name", .name, \.name, "the given name")
    private static let person = OutputShape<Person>.object([
        friend,
        .required("age", .nullable(.count), \.age), .optional("years", .count, \.age),
        .required("way", .word, \.door),
        .required("friends", .array(.object([friend])), \.friends),
        .required("seats", .dictionary(.positive), \.seats),
        .all([.required("json", .json(.any), { Array($0.name.utf8.dropFirst(3)) })]),
    ])

    @Test("The written members are the declared ones, in their order; an optional one without a value is absent")
    func members() {
        let grace = Person(name: "Grace")
        var ada = Person(name: "Ada[1]", age: 36, door: .closed, friends: [grace, grace])
        ada.seats = [("b", 2), ("a\n", 1)]
        #expect(
            text(Self.person, ada) == #"""
                {"name":"Ada[1]","age":36,"years":36,"way":"closed","friends":[{"name":"Grace"},{"name":"Grace"}],"seats":{"b":2,"a\n":1},"json":[1]}
                """#)
        #expect(
            text(Self.person, Person(name: "Ada{}")) == #"""
                {"name":"Ada{}","age":null,"way":"open","friends":[],"seats":{},"json":{}}
                """#)
        guard case .object(let declared) = Self.person.schema else { return #expect(Bool(false)) }
        #expect(declared.map(\.name) == ["name", "age", "years", "way", "friends", "seats", "json"])
        #expect(declared.filter { !$0.isRequired }.map(\.name) == ["years"])
        #expect(declared[0].note == "the given name")
    }

    @Test("A shape made from a source has the schema of the value made from it")
    func sources() {
        let shape = OutputShape<String>.name.named("Name").of { (number: Int) in "number \(number)" }
        #expect(text(shape, 7) == #""number 7""#)
        #expect(shape.schema.item == ["$ref": "#/components/schemas/Name"])
        let members = Self.friend.of { (name: String) in Person(name: name) }
        #expect(text(.object([members]), "Ada") == #"{"name":"Ada"}"#)
    }

    private func text<Value>(_ shape: OutputShape<Value>, _ value: Value) -> String {
        var writer = JSONWriter()
        shape.write(value, &writer)
        return writer.text
    }
}
