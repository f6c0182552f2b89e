import HeadgateData

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
