import HeadgateData

/// A test of the value at a path of an event (Behaviour S5).
///
/// Strings are compared by bytes, or without regard to case. Numbers are compared by value, in any notation and with
/// all digits. A condition that cannot be evaluated, because the value is missing or of the wrong type, is false, also
/// with a negated operator. Only `is_defined` and `is_not_defined` test for the presence of a value. Every present
/// value can be compared with null.
public struct Condition: Sendable, Equatable {
    public let `operator`: Operator
    /// The path of the tested value.
    public let path: EventPath
    /// The value to compare with; nil for operators without one.
    public let value: DataItem?
    /// True if upper and lower case are equal.
    public let ignoreCase: Bool
    let test: ConditionTest

    /// Creates a condition.
    /// - Throws: ``ConditionFault`` if the operator cannot compare with the value. `equals` needs a string, number,
    ///   true, false or null; an order of numbers needs a number; other operators need a string. A regular expression
    ///   is checked when it is compiled.
    public init(
        _ operator: Operator, path: EventPath, value: DataItem? = nil, ignoreCase: Bool = false
    ) throws(ConditionFault) {
        test = try ConditionTest(`operator`, value, ignoreCase: ignoreCase)
        self.operator = `operator`
        self.path = path
        self.value = value
        self.ignoreCase = ignoreCase
    }

    /// Creates a condition that compares with a string.
    init(_ operator: Operator, _ test: ConditionTest, path: EventPath, target: String, ignoreCase: Bool) {
        self.test = test
        self.operator = `operator`
        self.path = path
        value = .string(target)
        self.ignoreCase = ignoreCase
    }

    /// The regular expression; nil if there is none.
    public var pattern: String? {
        guard case .pattern(let pattern) = test else { return nil }
        return pattern
    }

    /// Compiles the regular expression; nil if there is none.
    public func compiledPattern(by patterns: any PatternCompiler) throws(PatternFault) -> (any PatternMatching)? {
        guard let pattern else { return nil }
        return try patterns.compile(pattern, ignoreCase: ignoreCase)
    }
}

/// The reason why a condition is invalid.
public enum ConditionFault: Error, Equatable, Sendable {
    /// The operator needs a value, and there is none.
    case valueIsMissing
    /// The operator cannot compare with the value. The text says which values are allowed.
    case valueMustBe(String)
}

extension Condition {
    /// The operator of a condition (Behaviour S5).
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

        /// True if the operator is the negation of another one.
        var isNegated: Bool {
            switch self {
            case .notEquals, .notStartsWith, .notEndsWith, .notContains, .notRegularExpression: true
            case .isNotDefined, .isNotEmpty: true
            default: false
            }
        }

        /// True if the operator needs a value.
        public var takesValue: Bool {
            switch self {
            case .isDefined, .isNotDefined, .isEmpty, .isNotEmpty: false
            default: true
            }
        }
    }
}

/// Short forms for programs: `.just(.equals(ignoreCase: false, variable: "user_type", target: "premium"))`. A variable
/// is a path in the notation of ``EventPath``, so this one is in the event's data.
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

    /// Creates a condition with a regular expression, which is checked when the rule is set.
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
