import HeadgateData

/// The router that holds the load rules (Behaviour S5), and determines which dispatchers refuse an event (Behaviour
/// P3).
public final class LoadRouter {
    /// The rules by their ids.
    public private(set) var rules = LoadRules()
    private var routing = LoadRouting()
    /// The dispatchers with a rule.
    private var ruled: [(number: DispatcherNumber, rule: Rule)] = []
    private let patternCompiler: any PatternCompiler
    /// The transformations, which also depend on rules.
    private let transformations: Transformations

    init(_ patternCompiler: any PatternCompiler, _ transformations: Transformations) {
        self.patternCompiler = patternCompiler
        self.transformations = transformations
        prepare()
    }

    /// True if every event goes to all dispatchers. Otherwise ``Headgate/route(_:for:)`` evaluates the rules.
    public var isEmpty: Bool { routing.isEmpty }

    /// Returns the dispatchers that refuse an event.
    func refusing(_ event: some EventFields) -> [DispatcherNumber] { routing.refusing(event) }

    /// Resolves a rule, whose compiled patterns are its own.
    func resolve(_ rule: Rule) throws(RuleFault) -> ResolvedRule {
        try RuleResolver(rules, patterns: PatternTable(patternCompiler)).resolve(rule)
    }

    /// Returns true if the rule of a dispatcher refuses an event.
    func refuses(_ event: some EventFields, for dispatcher: DispatcherNumber) -> Bool {
        routing.refuses(event, for: dispatcher)
    }

    /// Returns the fault that prevents a rule from being evaluated, or nil if there is none. A dispatcher whose own
    /// rule (`DispatcherSettings.loadRule`) has a fault gets no events.
    public func fault(in rule: Rule) -> RuleFault? {
        rules.fault(in: rule, patterns: PatternTable(patternCompiler))
    }

    /// Sets a rule under an id, so that dispatchers (`DispatcherSettings.loadRule`), transformations and other rules
    /// can refer to it. The rule applies from the next event on; stored events keep their routes (Behaviour P3). Rules
    /// may be set in any order. A rule that refers to a missing rule does not match.
    /// - Throws: ``RuleFault`` if the rule refers to itself, is too large, or has a regular expression that
    ///   ``GateEnvironment/patternCompiler`` refuses. Nothing changes in that case.
    public func set(_ rule: Rule, forId id: String) throws(RuleFault) {
        var changed = rules
        changed[id] = rule
        switch changed.fault(in: .reference(id), patterns: PatternTable(patternCompiler)) {
        case nil, .unknownRule: put(changed)
        case let fault?: throw fault
        }
    }

    /// Removes a rule. References to it no longer match.
    public func remove(forId id: String) {
        replace(named: [id], by: [:])
    }

    /// Removes rules and sets others in one step.
    public func replace(named old: some Sequence<String>, by new: NameTable<Rule>) {
        var changed = rules
        for id in old { changed[id] = nil }
        for (id, rule) in new { changed[id] = rule }
        put(changed)
    }

    private func put(_ changed: LoadRules) {
        rules = changed
        prepare()
    }

    /// Updates the rules of dispatchers, after dispatchers or their settings have changed.
    /// - Parameter ruled: the dispatchers with a rule.
    func dispatchersChanged(_ ruled: [(number: DispatcherNumber, rule: Rule)]) {
        self.ruled = ruled.sorted { $0.number < $1.number }
        prepare()
    }

    /// Resolves all rules again, after rules or dispatchers have changed.
    private func prepare() {
        let resolver = RuleResolver(rules, patterns: PatternTable(patternCompiler))
        routing = LoadRouting(ruled, resolver: resolver)
        transformations.setResolver(resolver)
    }
}

/// The resolved rules of dispatchers. They are resolved whenever rules or dispatchers change, so that an event costs
/// only the evaluation. A rule that several dispatchers share is evaluated once.
struct LoadRouting {
    /// Dispatchers that share a rule. The rule is nil if it has a fault, like a missing rule; these dispatchers get no
    /// events.
    private struct Group {
        let rule: ResolvedRule?
        var dispatchers: [DispatcherNumber]
    }

    private var groups: [Group] = []

    /// True if every event goes to all dispatchers.
    var isEmpty: Bool { groups.isEmpty }

    init() {}

    /// - Parameter dispatchers: the dispatchers with a rule.
    init(_ dispatchers: [(number: DispatcherNumber, rule: Rule)], resolver: RuleResolver) {
        var indexes = NameTable<Int>()
        for (number, rule) in dispatchers {
            if case .reference(let id) = rule, let index = indexes[id] {
                groups[index].dispatchers.append(number)
                continue
            }
            if case .reference(let id) = rule { indexes[id] = groups.count }
            groups.append(Group(rule: try? resolver.resolve(rule), dispatchers: [number]))
        }
    }

    /// Returns the dispatchers that refuse an event.
    func refusing(_ event: some EventFields) -> [DispatcherNumber] {
        var refusing: [DispatcherNumber] = []
        for group in groups where !(group.rule?.holds(for: event) ?? false) { refusing += group.dispatchers }
        return refusing
    }

    /// Returns true if the rule of a dispatcher refuses an event.
    func refuses(_ event: some EventFields, for dispatcher: DispatcherNumber) -> Bool {
        guard let group = groups.first(where: { $0.dispatchers.contains(dispatcher) }) else { return false }
        return !(group.rule?.holds(for: event) ?? false)
    }
}
