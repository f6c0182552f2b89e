/// A condition that can be asked: its regular expression, where it has one, is compiled.
struct ReadyCondition {
    private let condition: Condition
    private let pattern: (any PatternMatching)?

    init(_ condition: Condition, patterns: any PatternCompiler) throws(PatternFault) {
        self.condition = condition
        pattern = try condition.compiledPattern(by: patterns)
    }

    /// Whether the condition is true of an event.
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
