import HeadgateData

/// One question about an event: whether the value at a path is so (Behaviour S5).
///
/// Strings are compared by their bytes, or without regard to case; numbers by their value, however they are spelt and
/// with all their digits. A condition that cannot be evaluated, because nothing is there or it is of the wrong type, is
/// false, also with a negated operator; only `is_defined` and `is_not_defined` look at whether anything is there.
public struct Condition: Sendable, Equatable {
    public let `operator`: Operator
    /// Where the value is.
    public let path: EventPath
    /// What it is compared with.
    public let value: DataItem?
    /// Whether upper and lower case are the same.
    public let ignoreCase: Bool
    let test: ConditionTest

    /// Throws when the value is not one that the operator compares with: a string, number, true, false or null for
    /// `equals`, a number for the order of numbers, else a string. Whether that of `regular_expression` is one turns out
    /// when it is compiled.
    public init(
        _ operator: Operator, path: EventPath, value: DataItem? = nil, ignoreCase: Bool = false
    ) throws(ConditionFault) {
        test = try ConditionTest(`operator`, value, ignoreCase: ignoreCase)
        self.operator = `operator`
        self.path = path
        self.value = value
        self.ignoreCase = ignoreCase
    }

    /// A comparison with a string.
    init(_ operator: Operator, _ test: ConditionTest, path: EventPath, target: String, ignoreCase: Bool) {
        self.test = test
        self.operator = `operator`
        self.path = path
        value = .string(target)
        self.ignoreCase = ignoreCase
    }

    /// Its regular expression; nil when it has none.
    public var pattern: String? {
        guard case .pattern(let pattern) = test else { return nil }
        return pattern
    }

    /// Its regular expression, compiled; nil when it has none.
    public func compiledPattern(by patterns: any PatternCompiler) throws(PatternFault) -> (any PatternMatching)? {
        guard let pattern else { return nil }
        return try patterns.compile(pattern, ignoreCase: ignoreCase)
    }
}

/// Why there is no such condition.
public enum ConditionFault: Error, Equatable, Sendable {
    /// The operator compares with a value, and there is none.
    case valueIsMissing
    /// The value is not what the operator compares with; the words say what would be.
    case valueMustBe(String)
}
