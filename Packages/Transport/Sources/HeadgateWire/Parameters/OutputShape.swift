import HeadgateData

/// The shape of a value in a message that is sent, and the function that writes it. Both are declared together, so that
/// they cannot differ. ``Shape`` is its counterpart for values that are read.
public struct OutputShape<Value>: Sendable {
    /// The schema of the value.
    public let schema: Schema
    /// Writes a value.
    public let write: @Sendable (Value, inout JSONWriter) -> Void

    public init(_ schema: Schema, _ write: @escaping @Sendable (Value, inout JSONWriter) -> Void) {
        self.schema = schema
        self.write = write
    }

    /// Returns the shape with a name under which the OpenRPC document has its schema.
    public func named(_ name: String) -> OutputShape {
        OutputShape(.named(name, schema), write)
    }

    /// Returns a shape of other values. `make` converts each of them into the value that this shape writes.
    public func of<Source>(_ make: @escaping @Sendable (Source) -> Value) -> OutputShape<Source> {
        OutputShape<Source>(schema) { [write] source, writer in write(make(source), &writer) }
    }
}

/// Members of an object that is sent: their declarations, and the function that writes them.
public struct OutputMembers<Value>: Sendable {
    /// The descriptions of the members.
    public let declared: [Schema.Member]
    /// Writes the members of a value into an open object.
    public let write: @Sendable (Value, inout JSONWriter) -> Void

    public init(_ declared: [Schema.Member], _ write: @escaping @Sendable (Value, inout JSONWriter) -> Void) {
        self.declared = declared
        self.write = write
    }

    /// Returns a member that is always there.
    public static func required<Member>(
        _ name: StaticString, _ shape: OutputShape<Member>, _ member: @escaping @Sendable (Value) -> Member,
        _ note: String? = nil
    ) -> OutputMembers {
        OutputMembers([.required(name.description, shape.schema, note)]) { value, writer in
            writer.member(name)
            shape.write(member(value), &writer)
        }
    }

    /// Returns a member that is always there, under a name from a table.
    public static func required<Member>(
        key: String, _ shape: OutputShape<Member>, _ member: @escaping @Sendable (Value) -> Member,
        _ note: String? = nil
    ) -> OutputMembers {
        OutputMembers([.required(key, shape.schema, note)]) { value, writer in
            writer.member(key: key)
            shape.write(member(value), &writer)
        }
    }

    /// Returns a member that is absent if its value is nil.
    public static func optional<Member>(
        _ name: StaticString, _ shape: OutputShape<Member>, _ member: @escaping @Sendable (Value) -> Member?,
        _ note: String? = nil
    ) -> OutputMembers {
        OutputMembers([.optional(name.description, shape.schema, note)]) { value, writer in
            guard let member = member(value) else { return }
            writer.member(name)
            shape.write(member, &writer)
        }
    }

    /// Writes an object of the members.
    public func writeObject(_ value: Value, into writer: inout JSONWriter) {
        writer.beginObject()
        write(value, &writer)
        writer.endObject()
    }

    /// Returns several members, in order.
    public static func all(_ members: [OutputMembers]) -> OutputMembers {
        OutputMembers(members.flatMap(\.declared)) { value, writer in
            for member in members { member.write(value, &writer) }
        }
    }

    /// Returns members of other values. `make` converts each of them into the value whose members are written.
    public func of<Source>(_ make: @escaping @Sendable (Source) -> Value) -> OutputMembers<Source> {
        OutputMembers<Source>(declared) { [write] source, writer in write(make(source), &writer) }
    }
}

// MARK: Objects and arrays

extension OutputShape {
    /// Returns a shape of objects.
    public static func object(_ members: [OutputMembers<Value>]) -> OutputShape {
        let members = OutputMembers.all(members)
        return OutputShape(.object(members.declared)) { members.writeObject($0, into: &$1) }
    }

    /// Returns a shape of arrays.
    public static func array<Element>(_ element: OutputShape<Element>) -> OutputShape where Value == [Element] {
        OutputShape(.array(element.schema)) { elements, writer in
            writer.beginArray()
            for value in elements {
                writer.element()
                element.write(value, &writer)
            }
            writer.endArray()
        }
    }

    /// Returns a shape of objects with any names, and values of one shape. The members keep their order.
    public static func dictionary<Element>(_ element: OutputShape<Element>) -> OutputShape
    where Value == [(key: String, value: Element)] {
        OutputShape(.dictionary(element.schema)) { members, writer in
            writer.beginObject()
            for (key, value) in members {
                writer.member(key: key)
                element.write(value, &writer)
            }
            writer.endObject()
        }
    }

    /// Returns a shape of values that are null if they are nil.
    public static func nullable<Wrapped>(_ shape: OutputShape<Wrapped>) -> OutputShape where Value == Wrapped? {
        OutputShape(.nullable(shape.schema)) { value, writer in
            if let value { shape.write(value, &writer) } else { writer.null() }
        }
    }
}

// MARK: Texts, numbers and other values

extension OutputShape where Value == String {
    /// A string with at least one character.
    public static var name: OutputShape { OutputShape(.name) { $1.string($0) } }
    /// Any string.
    public static var text: OutputShape { OutputShape(.text) { $1.string($0) } }

    /// Returns a shape of a string that is one of these.
    public static func words(_ words: [String]) -> OutputShape { OutputShape(.words(words)) { $1.string($0) } }
}

extension OutputShape where Value: RawRepresentable<String> & CaseIterable & Sendable {
    /// A word of an enumeration.
    public static var word: OutputShape { OutputShape(.words(of: Value.self)) { $1.string($0.rawValue) } }
}

extension OutputShape where Value: FixedWidthInteger & Sendable {
    /// A count, a size, or a duration in the unit that its name ends with.
    public static var count: OutputShape { OutputShape(.count) { $1.integer($0) } }
    /// A position in an order that begins with 1.
    public static var positive: OutputShape { OutputShape(.positive) { $1.integer($0) } }
}

extension OutputShape where Value == Bool {
    /// `true` or `false`.
    public static var bool: OutputShape { OutputShape(.bool) { $1.bool($0) } }
}

extension OutputShape where Value == Timestamp {
    /// A moment, in RFC 3339.
    public static var time: OutputShape { OutputShape(.time) { $1.timestamp($0) } }
}

extension OutputShape where Value == DataObject {
    /// An object whose members the protocol does not define.
    public static var anyObject: OutputShape { OutputShape(.anyObject) { $1.object($0) } }
}

extension OutputShape where Value == [UInt8] {
    /// Returns a shape of values that are JSON text already.
    public static func json(_ schema: Schema) -> OutputShape { OutputShape(schema) { $1.raw($0) } }
}
