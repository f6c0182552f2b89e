import HeadgateData

/// The prepared form of an operator and its value.
enum ConditionTest: Sendable, Equatable {
    case isDefined
    case isEmpty
    case isNull
    case isBool(Bool)
    case number(NumberRelation, NumericValue)
    case text(TextRelation, ComparableText)
    /// A regular expression. It is compiled in ``ReadyCondition``.
    case pattern(String)

    /// Returns the result of the test, or nil if the value is of the wrong type.
    func outcome(for value: FieldValue) -> Bool? {
        switch (self, value) {
        case (.isDefined, _): true
        case (.isEmpty, _): ConditionTest.isEmpty(value)
        case (.isNull, .null): true
        // A present value can always be compared with null (decision 90).
        case (.isNull, _): false
        case (.isBool(let operand), .bool(let bool)): bool == operand
        case (.number(let relation, let operand), .number(let number)): relation.holds(NumericValue(number), operand)
        case (.text(let relation, let operand), .string(let string)): relation.holds(string, operand)
        default: nil
        }
    }

    /// Returns true if a value is empty, or nil for numbers and Booleans.
    private static func isEmpty(_ value: FieldValue) -> Bool? {
        switch value {
        case .null: true
        case .string(let string): string.isEmpty
        case .array(let isEmpty), .object(let isEmpty): isEmpty
        case .bool, .number: nil
        }
    }
}

extension ConditionTest {
    /// Creates the test of an operator and its value.
    init(_ operator: Condition.Operator, _ value: DataItem?, ignoreCase: Bool) throws(ConditionFault) {
        switch `operator` {
        case .isDefined, .isNotDefined: self = .isDefined
        case .isEmpty, .isNotEmpty: self = .isEmpty
        case .equals, .notEquals: self = try .equality(with: value, ignoreCase: ignoreCase)
        case .startsWith, .notStartsWith: self = try .text(.prefix, value, ignoreCase)
        case .endsWith, .notEndsWith: self = try .text(.suffix, value, ignoreCase)
        case .contains, .notContains: self = try .text(.infix, value, ignoreCase)
        case .regularExpression, .notRegularExpression: self = .pattern(try ConditionTest.string(value))
        case .greaterThan: self = try .number(.greater, value)
        case .greaterThanOrEquals: self = try .number(.greaterOrEqual, value)
        case .lessThan: self = try .number(.less, value)
        case .lessThanOrEquals: self = try .number(.lessOrEqual, value)
        }
    }

    private static func equality(with value: DataItem?, ignoreCase: Bool) throws(ConditionFault) -> ConditionTest {
        switch value {
        case nil: throw .valueIsMissing
        case .null: .isNull
        case .bool(let bool): .isBool(bool)
        case .number(let number): .number(.equal, NumericValue(number))
        case .string(let string): .text(.equal, ComparableText(string, ignoreCase: ignoreCase))
        case .array, .object: throw .valueMustBe("a string, a number, true, false or null")
        }
    }

    private static func text(
        _ relation: TextRelation, _ value: DataItem?, _ ignoreCase: Bool
    ) throws(ConditionFault) -> ConditionTest {
        .text(relation, ComparableText(try string(value), ignoreCase: ignoreCase))
    }

    private static func number(_ relation: NumberRelation, _ value: DataItem?) throws(ConditionFault) -> ConditionTest {
        guard let value else { throw .valueIsMissing }
        guard case .number(let number) = value else { throw .valueMustBe("a number") }
        return .number(relation, NumericValue(number))
    }

    private static func string(_ value: DataItem?) throws(ConditionFault) -> String {
        guard let value else { throw .valueIsMissing }
        guard case .string(let string) = value else { throw .valueMustBe("a string") }
        return string
    }
}

/// A condition whose regular expression, if there is one, is compiled.
struct ReadyCondition {
    private let condition: Condition
    private let pattern: (any PatternMatching)?

    init(_ condition: Condition, patterns: any PatternCompiler) throws(PatternFault) {
        self.condition = condition
        pattern = try condition.compiledPattern(by: patterns)
    }

    /// Returns true if the condition is true for an event.
    func holds(for event: some EventFields) -> Bool {
        let value = event.value(at: condition.path)
        let isNegated = condition.operator.isNegated
        if condition.test == .isDefined { return (value != nil) != isNegated }
        guard let value, let outcome = outcome(for: value) else { return false }
        return outcome != isNegated
    }

    private func outcome(for value: FieldValue) -> Bool? {
        guard let pattern else { return condition.test.outcome(for: value) }
        guard case .string(let text) = value else { return nil }
        return pattern.isFound(in: text)
    }
}
