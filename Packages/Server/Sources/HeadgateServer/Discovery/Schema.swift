import HeadgateData

/// What a JSON value may be: as much of JSON Schema as the protocol needs.
indirect enum Schema: Sendable {
    case any
    case bool
    case string
    /// A string with at least one character.
    case name
    /// A string in the form of RFC 3339; where the server sends it, in UTC with milliseconds.
    case time
    case integer(least: Int, most: Int? = nil)
    case words([String])
    case object([Member])
    /// An object whose members have names that the protocol does not know, and values of one schema.
    case dictionary(Schema)
    case array(Schema)
    case either([Schema])
    /// One of the schemas that have a name, ``SharedSchema``.
    case shared(SharedSchema)

    /// A member of an object.
    struct Member: Sendable {
        var name: String
        var schema: Schema
        var isRequired = true
        /// What it means, where the name does not say it.
        var note: String?
    }

    /// A count, a size, or a duration that the server tells, in the unit that its name ends with.
    static let count = Schema.integer(least: 0)
    /// Milliseconds that a client gives, where none at all makes no sense.
    static let duration = Schema.integer(least: 1, most: mostMilliseconds)
    /// Milliseconds that a client gives, or 0.
    static let durationOrNone = Schema.integer(least: 0, most: mostMilliseconds)
    private static let mostMilliseconds = Int(Limits.longestDuration.wholeMilliseconds)
    static let empty = Schema.object([])

    /// This, or null.
    static func nullable(_ schema: Schema) -> Schema {
        .either([schema, .words([])])
    }
}

extension Schema.Member {
    static func required(_ name: String, _ schema: Schema, _ note: String? = nil) -> Schema.Member {
        Schema.Member(name: name, schema: schema, note: note)
    }

    static func optional(_ name: String, _ schema: Schema, _ note: String? = nil) -> Schema.Member {
        Schema.Member(name: name, schema: schema, isRequired: false, note: note)
    }
}

extension Schema {
    /// The schema in JSON Schema's own words.
    var item: DataItem {
        switch self {
        case .any: [:]
        case .bool: ["type": "boolean"]
        case .string: ["type": "string"]
        case .name: ["type": "string", "minLength": 1]
        case .time: ["type": "string", "format": "date-time"]
        case .integer(let least, let most): Schema.integer(from: least, to: most)
        case .words([]): ["type": "null"]
        case .words(let words): ["type": "string", "enum": .array(words.map { .string($0) })]
        case .object(let members): Schema.item(of: members)
        case .dictionary(let schema): ["type": "object", "additionalProperties": schema.item]
        case .array(let schema): ["type": "array", "items": schema.item]
        case .either(let schemas): ["anyOf": .array(schemas.map(\.item))]
        case .shared(let shared): ["$ref": .string("#/components/schemas/\(shared.rawValue)")]
        }
    }

    private static func integer(from least: Int, to most: Int?) -> DataItem {
        var object: DataObject = ["type": "integer", "minimum": .number(DataNumber(least))]
        if let most { object["maximum"] = .number(DataNumber(most)) }
        return .object(object)
    }

    private static func item(of members: [Member]) -> DataItem {
        var object: DataObject = ["type": "object"]
        guard !members.isEmpty else { return .object(object) }
        let required = members.filter(\.isRequired).map(\.name)
        object["properties"] = .object(DataObject(members.map { ($0.name, $0.item) }))
        if !required.isEmpty { object["required"] = .array(required.map { .string($0) }) }
        return .object(object)
    }
}

extension Schema.Member {
    fileprivate var item: DataItem {
        guard let note, case .object(var object) = schema.item else { return schema.item }
        object["description"] = .string(note)
        return .object(object)
    }
}
