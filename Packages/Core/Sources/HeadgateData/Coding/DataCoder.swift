/// Makes JSON values of a program's own types, and those types of JSON values, by `Codable`.
///
///     struct Signup: Codable { var plan: String, seats: Int }
///     let data = try DataCoder().encodeObject(Signup(plan: "free", seats: 3))  // {"plan":"free","seats":3}
///     let signup = try data.decode(as: Signup.self)
///
/// Numbers keep their digits: whole numbers of any width, and Foundation's `Decimal` exactly. `Data` is base64, `URL` and
/// `UUID` are strings. Members are in the order in which a type encodes them; those of a dictionary are sorted by their
/// keys. What a coder writes it reads again as the same value, but that moments are told to the millisecond.
public struct DataCoder: Sendable {
    /// What becomes of the names of properties and of an enum's cases. The keys of dictionaries are data, and stay.
    public enum KeyNaming: Sendable {
        /// They stay as they are.
        case asGiven
        /// `seatCount` becomes `seat_count`, and `imageURL` `image_url`.
        case snakeCase
    }

    /// How a moment is told: a ``Timestamp``, or a `Date` of Foundation.
    public enum DateForm: Sendable {
        /// As a string, in UTC with milliseconds: `2026-11-20T09:41:55.123Z`.
        case rfc3339
        /// As a number, the fraction with it.
        case secondsSince1970
        /// As a whole number.
        case millisecondsSince1970
        /// As the type does it with any coder: a `Date` of Foundation as the seconds since 2001, not rounded.
        case asItself
    }

    /// How deep the values of an event's data may lie in each other: the daemon takes 64 levels (`max_depth`), and the
    /// message around the data has up to four.
    public static let usualDepth = 60

    /// What becomes of the names of properties.
    public var keys: KeyNaming
    /// How moments are told.
    public var dates: DateForm
    /// How many arrays and objects may lie in each other. More is an error when encoding.
    public var maxDepth: Int
    /// What the types are told besides, as their coder's `userInfo`.
    public var userInfo: [CodingUserInfoKey: any Sendable]

    public init(
        keys: KeyNaming = .asGiven, dates: DateForm = .rfc3339, maxDepth: Int = DataCoder.usualDepth,
        userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) {
        self.keys = keys
        self.dates = dates
        self.maxDepth = maxDepth
        self.userInfo = userInfo
    }

    /// The JSON value of a value.
    /// - Throws: `EncodingError`, with the path, where there is no JSON for something in it (an infinite number, a moment
    ///   outside the years 0 to 9999) or it is nested too deep; and whatever the value itself throws.
    public func encode(_ value: some Encodable) throws -> DataItem {
        try ItemEncoder(EncodingRun(self), at: [], depth: 1).item(of: value)
    }

    /// The JSON object of a value, such as an event has for its data.
    /// - Throws: as ``encode(_:)`` does, and an `EncodingError` where the value's JSON is no object.
    public func encodeObject(_ value: some Encodable) throws -> DataObject {
        guard case .object(let object) = try encode(value) else {
            throw EncodingError.no("an object is needed, which \(type(of: value)) does not become", value, at: [])
        }
        return object
    }

    /// The value that a JSON value stands for. Members that the type does not ask for are passed over.
    /// - Throws: `DecodingError`, with the path, where something is missing, of another kind, or does not fit: no number
    ///   is rounded to be whole. And whatever the type itself throws.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self, from item: DataItem) throws -> Value {
        try ItemDecoder(self, item, at: []).value()
    }

    /// The name that a property has in JSON.
    func name(of key: some CodingKey) -> String {
        switch keys {
        case .asGiven: key.stringValue
        case .snakeCase: SnakeCase.snake(key.stringValue)
        }
    }

    /// The property that has a name in JSON; nil when there is none.
    func key<Key: CodingKey>(named name: String) -> Key? {
        switch keys {
        case .asGiven: Key(stringValue: name)
        case .snakeCase:
            [SnakeCase.camel(name), name].lazy.compactMap { Key(stringValue: $0) }.first { self.name(of: $0) == name }
        }
    }
}

extension DataItem {
    /// The value that this stands for; see ``DataCoder/decode(_:from:)``.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self, by coder: DataCoder = DataCoder()
    ) throws -> Value {
        try coder.decode(type, from: self)
    }
}

extension DataObject {
    /// The value that this stands for; see ``DataCoder/decode(_:from:)``.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self, by coder: DataCoder = DataCoder()
    ) throws -> Value {
        try coder.decode(type, from: .object(self))
    }
}

/// Names of Swift's properties, and the same names as others write them.
enum SnakeCase {
    /// A word begins at a capital that follows none, and at the last of several capitals if a small letter follows it.
    static func snake(_ name: String) -> String {
        let letters = Array(name)
        var snake = ""
        for (place, letter) in letters.enumerated() {
            let isAfterWord = place > 0 && !letters[place - 1].isUppercase && letters[place - 1] != "_"
            let isBeforeSmall = place + 1 < letters.count && letters[place + 1].isLowercase
            let isAfterCapital = place > 0 && letters[place - 1].isUppercase
            if letter.isUppercase, isAfterWord || isAfterCapital && isBeforeSmall { snake.append("_") }
            snake += letter.lowercased()
        }
        return snake
    }

    /// Each word but the first gets a capital; underscores at the ends stay.
    static func camel(_ name: String) -> String {
        let start = name.prefix { $0 == "_" }
        let words = name.dropFirst(start.count).split(separator: "_")
        let end = words.isEmpty ? "" : String(name.reversed().prefix { $0 == "_" })
        return start + (words.first ?? "")
            + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
            + end
    }
}

/// Stands for an element of an array in the path of an error.
struct IndexKey: CodingKey {
    let place: Int

    init(_ place: Int) {
        self.place = place
    }

    init?(intValue: Int) {
        place = intValue
    }

    init?(stringValue: String) {
        return nil
    }

    var intValue: Int? { place }
    var stringValue: String { "Index \(place)" }
}

/// Where a class encodes what its superclass has.
enum SuperKey: String, CodingKey {
    case `super`
}

extension EncodingError {
    static func no(_ complaint: String, _ value: Any, at path: [any CodingKey]) -> EncodingError {
        .invalidValue(value, Context(codingPath: path, debugDescription: complaint))
    }
}
