import HeadgateData

/// A resolver of rules: it replaces references with the rules, and compiles regular expressions.
struct RuleResolver {
    let rules: LoadRules
    let patterns: any PatternCompiler

    init(_ rules: LoadRules = LoadRules(), patterns: any PatternCompiler = NoPatternCompiler()) {
        self.rules = rules
        self.patterns = patterns
    }

    /// Returns the resolved rule. If the rule refers to an unknown one, the rest is checked first. Other faults are
    /// thrown before this one, because the missing rule may be set later.
    func resolve(_ rule: Rule) throws(RuleFault) -> ResolvedRule {
        var resolution = Resolution(rules: rules, patterns: patterns)
        let resolved = try resolution.resolve(rule)
        if let id = resolution.unknownRule { throw .unknownRule(id) }
        return resolved
    }

    /// Returns the fault that prevents a rule from being evaluated, or nil if there is none.
    func fault(in rule: Rule) -> RuleFault? {
        do throws(RuleFault) {
            _ = try resolve(rule)
            return nil
        } catch {
            return error
        }
    }
}

/// The resolution of one rule. Conditions are counted each time a rule is referred to, so that rules that double in
/// size at each reference are found before they take too much time.
private struct Resolution {
    let rules: LoadRules
    let patterns: any PatternCompiler
    /// The first id without a rule.
    private(set) var unknownRule: String?
    /// The ids of the references on the present path.
    private var path: [String] = []
    private var depth = 0
    private var conditions = 0

    init(rules: LoadRules, patterns: any PatternCompiler) {
        self.rules = rules
        self.patterns = patterns
    }

    mutating func resolve(_ rule: Rule) throws(RuleFault) -> ResolvedRule {
        depth += 1
        defer { depth -= 1 }
        guard depth <= LoadRules.mostDepth, conditions <= LoadRules.mostConditions else { throw .tooLarge }
        switch rule {
        case .just(let condition): return .just(try ready(condition))
        case .and(let rules): return .and(try resolve(rules))
        case .or(let rules): return .or(try resolve(rules))
        case .not(let rule): return .not(try resolve(rule))
        case .reference(let id): return try resolve(reference: id)
        }
    }

    private mutating func ready(_ condition: Condition) throws(RuleFault) -> ReadyCondition {
        conditions += 1
        do throws(PatternFault) {
            return try ReadyCondition(condition, patterns: patterns)
        } catch {
            throw .pattern(error)
        }
    }

    private mutating func resolve(_ rules: [Rule]) throws(RuleFault) -> [ResolvedRule] {
        conditions += 1
        var resolved: [ResolvedRule] = []
        for rule in rules { resolved.append(try resolve(rule)) }
        return resolved
    }

    private mutating func resolve(reference id: String) throws(RuleFault) -> ResolvedRule {
        if let start = path.firstIndex(where: { ExactName($0) == ExactName(id) }) {
            throw .cycle(path[start...] + [id])
        }
        guard let rule = rules[id] else {
            unknownRule = unknownRule ?? id
            return .or([])
        }
        path.append(id)
        defer { path.removeLast() }
        return try resolve(rule)
    }
}

/// A rule without references and with compiled regular expressions.
indirect enum ResolvedRule {
    case just(ReadyCondition)
    case and([ResolvedRule])
    case or([ResolvedRule])
    case not(ResolvedRule)

    /// Returns true if the rule is true for an event.
    func holds(for event: some EventFields) -> Bool {
        switch self {
        case .just(let condition): condition.holds(for: event)
        case .and(let rules): rules.allSatisfy { $0.holds(for: event) }
        case .or(let rules): rules.contains { $0.holds(for: event) }
        case .not(let rule): !rule.holds(for: event)
        }
    }
}
