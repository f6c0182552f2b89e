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
