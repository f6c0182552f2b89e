import HeadgateData

/// Conditions as programs write them: `.just(.equals(ignoreCase: false, variable: "user_type", target: "premium"))`. A
/// variable is a path as ``EventPath`` has it, so that this one is in the event's data.
extension Condition {
    public static func equals(ignoreCase: Bool, variable: EventPath, target: String) -> Condition {
        Condition(.equals, .equal, path: variable, target: target, ignoreCase: ignoreCase)
    }

    public static func startsWith(ignoreCase: Bool, variable: EventPath, target: String) -> Condition {
        Condition(.startsWith, .prefix, path: variable, target: target, ignoreCase: ignoreCase)
    }

    public static func endsWith(ignoreCase: Bool, variable: EventPath, target: String) -> Condition {
        Condition(.endsWith, .suffix, path: variable, target: target, ignoreCase: ignoreCase)
    }

    public static func contains(ignoreCase: Bool, variable: EventPath, target: String) -> Condition {
        Condition(.contains, .infix, path: variable, target: target, ignoreCase: ignoreCase)
    }

    /// Throws when the target is no ``Pattern``.
    public static func regularExpression(
        ignoreCase: Bool, variable: EventPath, target: String
    ) throws(ConditionFault) -> Condition {
        try Condition(.regularExpression, path: variable, value: .string(target), ignoreCase: ignoreCase)
    }
}
