import HeadgateData

/// A type that a parameter can have.
public protocol ParameterValue {
    /// What is expected, for people: `must be a string`.
    static var expectation: String { get }

    /// The value; nil when the JSON value is of another kind or out of range.
    init?(parameter: JSONView)
}

extension String: ParameterValue {
    public static var expectation: String { "must be a string" }

    public init?(parameter: JSONView) {
        guard let string = parameter.string else { return nil }
        self = string
    }
}

extension Bool: ParameterValue {
    public static var expectation: String { "must be true or false" }

    public init?(parameter: JSONView) {
        guard let bool = parameter.bool else { return nil }
        self = bool
    }
}

extension Int: ParameterValue {
    public static var expectation: String { "must be a whole number" }

    public init?(parameter: JSONView) {
        guard let int = parameter.int.flatMap(Int.init(exactly:)) else { return nil }
        self = int
    }
}

extension Int64: ParameterValue {
    public static var expectation: String { Int.expectation }

    public init?(parameter: JSONView) {
        guard let int = parameter.int else { return nil }
        self = int
    }
}

extension Double: ParameterValue {
    public static var expectation: String { "must be a number" }

    public init?(parameter: JSONView) {
        guard let double = parameter.number?.double else { return nil }
        self = double
    }
}

extension Timestamp: ParameterValue {
    public static var expectation: String { "must be a time in RFC 3339" }

    public init?(parameter: JSONView) {
        guard let text = parameter.string, let moment = Timestamp(rfc3339: text) else { return nil }
        self = moment
    }
}

extension DataObject: ParameterValue {
    public static var expectation: String { "must be an object" }

    public init?(parameter: JSONView) {
        guard parameter.kind == .object else { return nil }
        self.init(parameter)
    }
}

extension DataItem: ParameterValue {
    public static var expectation: String { "must be a value" }

    public init?(parameter: JSONView) {
        self = parameter.item
    }
}

extension ParameterValue where Self: RawRepresentable & CaseIterable, RawValue == String {
    /// All the words, so that nobody has to guess.
    public static var expectation: String {
        "must be one of " + allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
    }

    public init?(parameter: JSONView) {
        guard let word = parameter.string else { return nil }
        self.init(rawValue: word)
    }
}
