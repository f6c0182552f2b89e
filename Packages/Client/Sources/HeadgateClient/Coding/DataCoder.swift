import HeadgateData

/// Converts values of `Codable` types to JSON values and back.
///
///     struct Signup: Codable { var plan: String, seats: Int }
///     let data = try DataCoder().encodeObject(Signup(plan: "free", seats: 3))  // {"plan":"free","seats":3}
///     let signup = try data.decode(as: Signup.self)
///
/// Numbers keep their digits: whole numbers of any width, and Foundation's `Decimal` exactly. `Data` becomes base64,
/// `URL` and `UUID` become strings. Members are in the order in which a type encodes them; the members of a dictionary
/// are sorted by key. Decoding an encoded value returns an equal value, except that moments are rounded to the
/// millisecond.
public struct DataCoder: Sendable {
    /// A rule that converts the names of properties and enum cases to JSON names. Keys of dictionaries are data and are
    /// never converted.
    public enum KeyNaming: Sendable {
        /// Names are kept as they are.
        case asGiven
        /// `seatCount` becomes `seat_count`, and `imageURL` `image_url`.
        case snakeCase
    }

    /// The JSON form of a moment: a `Timestamp` or a `Date` of Foundation.
    public enum DateForm: Sendable {
        /// A string in UTC with milliseconds: `2026-11-20T09:41:55.123Z`.
        case rfc3339
        /// A number of seconds with a fraction.
        case secondsSince1970
        /// A whole number of milliseconds.
        case millisecondsSince1970
        /// The form that the type itself encodes. A `Date` of Foundation becomes the seconds since 2001, not rounded.
        case asItself
    }

    /// The default nesting limit of an event's data. The daemon accepts 64 levels (`max_depth`), of which the message
    /// around the data needs up to four.
    public static let defaultDepth = 60

    /// The rule for the names of properties.
    public var keys: KeyNaming
    /// The JSON form of moments.
    public var dates: DateForm
    /// The most levels of nested arrays and objects. Encoding a deeper value is an error.
    public var maxDepth: Int
    /// Context for the types that are coded, passed as their coder's `userInfo`.
    public var userInfo: [CodingUserInfoKey: any Sendable]

    public init(
        keys: KeyNaming = .asGiven, dates: DateForm = .rfc3339, maxDepth: Int = DataCoder.defaultDepth,
        userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) {
        self.keys = keys
        self.dates = dates
        self.maxDepth = maxDepth
        self.userInfo = userInfo
    }

    /// Returns the JSON value of a Swift value.
    /// - Throws: `EncodingError` with the coding path if a part has no JSON form (an infinite number, a moment outside
    ///   the years 0 to 9999) or is nested too deep. Errors of the value's own `encode(to:)` are passed on.
    public func encode(_ value: some Encodable) throws -> DataItem {
        try ItemEncoder(EncodingRun(self), at: [], depth: 1).item(of: value)
    }

    /// Returns the JSON object of a Swift value, for example for an event's data.
    /// - Throws: the errors of ``encode(_:)``, and `EncodingError` if the value's JSON is not an object.
    public func encodeObject(_ value: some Encodable) throws -> DataObject {
        guard case .object(let object) = try encode(value) else {
            throw EncodingError.no("\(type(of: value)) does not encode as an object", value, at: [])
        }
        return object
    }

    /// Returns the Swift value that a JSON value represents. Members that the type does not decode are ignored.
    /// - Throws: `DecodingError` with the coding path if a part is missing, has another type, or is out of range. A
    ///   number with a fraction is never rounded to a whole number. Errors of the type's own `init(from:)` are passed
    ///   on.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self, from item: DataItem) throws -> Value {
        try ItemDecoder(self, item, at: []).value()
    }

    /// Returns the JSON name of a property.
    func name(of key: some CodingKey) -> String {
        switch keys {
        case .asGiven: key.stringValue
        case .snakeCase: SnakeCase.snake(key.stringValue)
        }
    }

    /// Returns the property with a JSON name, or nil if there is none.
    func key<Key: CodingKey>(named name: String) -> Key? {
        switch keys {
        case .asGiven: Key(stringValue: name)
        case .snakeCase:
            [SnakeCase.camel(name), name].lazy.compactMap { Key(stringValue: $0) }.first { self.name(of: $0) == name }
        }
    }
}

extension DataItem {
    /// Decodes a Swift value from this JSON value; see ``DataCoder/decode(_:from:)``.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self, by coder: DataCoder = DataCoder()
    ) throws -> Value {
        try coder.decode(type, from: self)
    }
}

extension DataObject {
    /// Decodes a Swift value from this JSON object; see ``DataCoder/decode(_:from:)``.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self, by coder: DataCoder = DataCoder()
    ) throws -> Value {
        try coder.decode(type, from: .object(self))
    }
}

/// Converts names between camel case, as Swift's properties have it, and snake case.
enum SnakeCase {
    /// Returns a name in snake case. A word begins at a capital letter that follows a small letter or a digit. In a run
    /// of capitals, the last one begins a word if a small letter follows it.
    static func snake(_ name: String) -> String {
        let characters = Array(name)
        var snake = ""
        for (index, character) in characters.enumerated() {
            let isAfterWord = index > 0 && !characters[index - 1].isUppercase && characters[index - 1] != "_"
            let isBeforeSmall = index + 1 < characters.count && characters[index + 1].isLowercase
            let isAfterCapital = index > 0 && characters[index - 1].isUppercase
            if character.isUppercase, isAfterWord || isAfterCapital && isBeforeSmall { snake.append("_") }
            snake += character.lowercased()
        }
        return snake
    }

    /// Returns a name in camel case: each word but the first gets a capital letter. Underscores at both ends are kept.
    static func camel(_ name: String) -> String {
        let start = name.prefix { $0 == "_" }
        let words = name.dropFirst(start.count).split(separator: "_")
        let end = words.isEmpty ? "" : String(name.reversed().prefix { $0 == "_" })
        return start + (words.first ?? "")
            + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
            + end
    }
}

/// The coding key of an array's element, for the path in an error.
struct IndexKey: CodingKey {
    let index: Int

    init(_ index: Int) {
        self.index = index
    }

    init?(intValue: Int) {
        index = intValue
    }

    init?(stringValue: String) {
        return nil
    }

    var intValue: Int? { index }
    var stringValue: String { "Index \(index)" }
}

/// The key under which a class encodes its superclass.
enum SuperKey: String, CodingKey {
    case `super`
}

extension EncodingError {
    static func no(_ problem: String, _ value: Any, at path: [any CodingKey]) -> EncodingError {
        .invalidValue(value, Context(codingPath: path, debugDescription: problem))
    }
}
