import HeadgateData

/// One question about an event: whether the value at a path is so (Behaviour S5).
///
/// Strings are compared by their bytes, or without regard to case; numbers by their value, however they are spelt and
/// with all their digits. A condition that cannot be evaluated, because nothing is there or it is of the wrong type, is
/// false, also with a negated operator; only `is_defined` and `is_not_defined` look at whether anything is there. Every value
/// that is there can be compared with null.
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

extension Condition {
    /// How a value is judged (Behaviour S5).
    public enum Operator: String, Sendable, CaseIterable {
        case equals
        case notEquals = "not_equals"
        case startsWith = "starts_with"
        case notStartsWith = "not_starts_with"
        case endsWith = "ends_with"
        case notEndsWith = "not_ends_with"
        case contains
        case notContains = "not_contains"
        case regularExpression = "regular_expression"
        case notRegularExpression = "not_regular_expression"
        case greaterThan = "greater_than"
        case greaterThanOrEquals = "greater_than_or_equals"
        case lessThan = "less_than"
        case lessThanOrEquals = "less_than_or_equals"
        case isDefined = "is_defined"
        case isNotDefined = "is_not_defined"
        case isEmpty = "is_empty"
        case isNotEmpty = "is_not_empty"

        /// Whether it says the contrary of another one.
        var isNegated: Bool {
            switch self {
            case .notEquals, .notStartsWith, .notEndsWith, .notContains, .notRegularExpression: true
            case .isNotDefined, .isNotEmpty: true
            default: false
            }
        }

        /// Whether it compares with a value.
        public var takesValue: Bool {
            switch self {
            case .isDefined, .isNotDefined, .isEmpty, .isNotEmpty: false
            default: true
            }
        }
    }
}

/// Conditions as programs write them: `.just(.equals(ignoreCase: false, variable: "user_type", target: "premium"))`. A
/// variable is a path as ``EventPath`` has it, so that this one is in the event's data.
extension Condition {
    public static func equals(ignoreCase: Bool, variable: EventPath, target: String) -> Condition {
        .text(.equals, .equal, variable, target, ignoreCase: ignoreCase)
    }

    public static func startsWith(ignoreCase: Bool, variable: EventPath, target: String) -> Condition {
        .text(.startsWith, .prefix, variable, target, ignoreCase: ignoreCase)
    }

    public static func endsWith(ignoreCase: Bool, variable: EventPath, target: String) -> Condition {
        .text(.endsWith, .suffix, variable, target, ignoreCase: ignoreCase)
    }

    public static func contains(ignoreCase: Bool, variable: EventPath, target: String) -> Condition {
        .text(.contains, .infix, variable, target, ignoreCase: ignoreCase)
    }

    /// Whether the target is a regular expression turns out when the rule is put in force.
    public static func regularExpression(ignoreCase: Bool, variable: EventPath, target: String) -> Condition {
        Condition(.regularExpression, .pattern(target), path: variable, target: target, ignoreCase: ignoreCase)
    }

    private static func text(
        _ operator: Operator, _ relation: TextRelation, _ path: EventPath, _ target: String, ignoreCase: Bool
    ) -> Condition {
        let test = ConditionTest.text(relation, ComparableText(target, ignoreCase: ignoreCase))
        return Condition(`operator`, test, path: path, target: target, ignoreCase: ignoreCase)
    }
}
