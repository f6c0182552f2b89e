import HeadgateData

/// The schema of a JSON value, with as much of JSON Schema as the protocol needs.
public indirect enum Schema: Sendable {
    /// Any value, including null.
    case any
    case null
    case bool
    /// A string with a length in bytes of UTF-8.
    case string(least: Int = 0, most: Int? = nil)
    /// A string in RFC 3339. The server sends it in UTC with milliseconds.
    case time
    /// A whole number.
    case integer(least: Int? = nil, most: Int? = nil)
    /// Any number.
    case number
    /// One of these strings.
    case words([String])
    /// An object with these members. Other members are ignored.
    case object([Member])
    /// An object with any names, and values of one schema.
    case dictionary(Schema)
    /// An array with at least `least` elements.
    case array(Schema, least: Int = 0)
    /// A value of one of these schemas.
    case either([Schema])
    /// A schema with a name, because several messages use it.
    case named(String, Schema)

    /// A member of an object.
    public struct Member: Sendable {
        public var name: String
        public var schema: Schema
        public var isRequired: Bool
        /// The default; nil if there is none, or if it is not a fixed value.
        public var defaultValue: DataItem?
        /// The meaning, if the name does not say it.
        public var note: String?

        public init(
            _ name: String, _ schema: Schema, isRequired: Bool, defaultValue: DataItem? = nil, note: String? = nil
        ) {
            self.name = name
            self.schema = schema
            self.isRequired = isRequired
            self.defaultValue = defaultValue
            self.note = note
        }
    }
}

extension Schema {
    /// A string with at least one character.
    public static let name = Schema.string(least: 1)
    /// Any string.
    public static let text = Schema.string()
    /// A count, a size, or a duration in the unit that its name ends with.
    public static let count = Schema.integer(least: 0)
    /// A position in an order that begins with 1.
    public static let positive = Schema.integer(least: 1)
    /// An object whose members the protocol does not define.
    public static let anyObject = Schema.dictionary(.any)
    /// An empty object, the result of an operation without a value.
    public static let empty = Schema.object([])

    /// Returns a schema that also allows null.
    public static func nullable(_ schema: Schema) -> Schema {
        .either([schema, .null])
    }

    /// Returns the schema of an enumeration's words.
    public static func words<Word: RawRepresentable<String> & CaseIterable>(of type: Word.Type) -> Schema {
        .words(Word.allCases.map(\.rawValue))
    }

    /// All named schemas in this one, at any depth, by name.
    public var named: [String: Schema] {
        switch self {
        case .any, .null, .bool, .string, .time, .integer, .number, .words: [:]
        case .object(let members): Schema.named(in: members.map(\.schema))
        case .either(let schemas): Schema.named(in: schemas)
        case .dictionary(let schema), .array(let schema, _): schema.named
        case .named(let name, let schema): schema.named.merging([name: schema]) { one, _ in one }
        }
    }

    private static func named(in schemas: [Schema]) -> [String: Schema] {
        schemas.reduce(into: [:]) { all, schema in all.merge(schema.named) { one, _ in one } }
    }
}

extension Schema.Member {
    /// Returns a required member.
    public static func required(_ name: String, _ schema: Schema, _ note: String? = nil) -> Schema.Member {
        Schema.Member(name, schema, isRequired: true, note: note)
    }

    /// Returns an optional member.
    public static func optional(_ name: String, _ schema: Schema, _ note: String? = nil) -> Schema.Member {
        Schema.Member(name, schema, isRequired: false, note: note)
    }
}

// MARK: JSON Schema

extension Schema {
    /// The schema as JSON Schema. A named schema is a reference to the components of the document.
    public var item: DataItem {
        switch self {
        case .any: [:]
        case .null: ["type": "null"]
        case .bool: ["type": "boolean"]
        case .string(let least, let most):
            Schema.item("string", ("minLength", least == 0 ? nil : least), ("maxLength", most))
        case .time: ["type": "string", "format": "date-time"]
        case .integer(let least, let most): Schema.item("integer", ("minimum", least), ("maximum", most))
        case .number: ["type": "number"]
        case .words(let words): ["type": "string", "enum": .array(words.map { .string($0) })]
        case .object(let members): Schema.item(of: members)
        case .dictionary(let schema): ["type": "object", "additionalProperties": schema.item]
        case .array(let schema, 0): ["type": "array", "items": schema.item]
        case .array(let schema, let least):
            ["type": "array", "items": schema.item, "minItems": .number(DataNumber(least))]
        case .either(let schemas): ["anyOf": .array(schemas.map(\.item))]
        case .named(let name, _): ["$ref": .string("#/components/schemas/\(name)")]
        }
    }

    private static func item(_ type: String, _ bounds: (name: String, value: Int?)...) -> DataItem {
        var object: DataObject = ["type": .string(type)]
        for bound in bounds { object[bound.name] = bound.value.map { .number(DataNumber($0)) } }
        return .object(object)
    }

    private static func item(of members: [Member]) -> DataItem {
        var object: DataObject = ["type": "object"]
        guard !members.isEmpty else { return .object(object) }
        let required = members.filter(\.isRequired).map(\.name)
        object["properties"] = .object(DataObject(members.map { ($0.name, $0.described) }))
        if !required.isEmpty { object["required"] = .array(required.map { .string($0) }) }
        return .object(object)
    }
}

extension Schema.Member {
    /// The member's schema with its description.
    fileprivate var described: DataItem {
        guard case .object(var object) = item else { return item }
        object["description"] = note.map { .string($0) }
        return .object(object)
    }

    /// The member's schema with its default.
    public var item: DataItem {
        guard let defaultValue, case .object(var object) = schema.item else { return schema.item }
        object["default"] = defaultValue
        return .object(object)
    }
}
