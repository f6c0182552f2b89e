/// A rule with the rules that it names put in their places: ready to be asked.
indirect enum ResolvedRule {
    case just(ReadyCondition)
    case and([ResolvedRule])
    case or([ResolvedRule])
    case not(ResolvedRule)

    /// Whether the rule is true of an event.
    func holds(for event: some EventFields) -> Bool {
        switch self {
        case .just(let condition): condition.holds(for: event)
        case .and(let rules): rules.allSatisfy { $0.holds(for: event) }
        case .or(let rules): rules.contains { $0.holds(for: event) }
        case .not(let rule): !rule.holds(for: event)
        }
    }
}
