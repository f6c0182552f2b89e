/// Knows the load rules (Behaviour S5), and which dispatchers want an event by them (Behaviour P3).
final class LoadRouter {
    private(set) var rules = LoadRules()
    private var routing = LoadRouting()
    /// The dispatchers with a rule.
    private var ruled: [(number: DispatcherNumber, rule: Rule)] = []
    private let patternCompiler: any PatternCompiler
    /// Those go by rules as well.
    private let transformations: Transformations

    init(_ patternCompiler: any PatternCompiler, _ transformations: Transformations) {
        self.patternCompiler = patternCompiler
        self.transformations = transformations
        prepare()
    }

    /// Whether every event goes to all.
    var isEmpty: Bool { routing.isEmpty }

    /// The dispatchers that do not want an event.
    func refusing(_ event: some EventFields) -> [DispatcherNumber] { routing.refusing(event) }

    /// What keeps a rule from being asked; nil when nothing does.
    func fault(in rule: Rule) -> RuleFault? {
        rules.fault(in: rule, patterns: PatternTable(patternCompiler))
    }

    /// Names a rule. It may name others that come later.
    func set(_ rule: Rule, _ id: String) throws(RuleFault) {
        var changed = rules
        changed[id] = rule
        switch changed.fault(in: .reference(id), patterns: PatternTable(patternCompiler)) {
        case nil, .unknownRule: put(changed)
        case let fault?: throw fault
        }
    }

    /// Takes rules away and names others, in one step.
    func replace(named old: Set<String>, by new: [String: Rule]) {
        var changed = rules
        for id in old { changed[id] = nil }
        for (id, rule) in new { changed[id] = rule }
        put(changed)
    }

    private func put(_ changed: LoadRules) {
        rules = changed
        prepare()
    }

    /// There are other dispatchers by now, or they are set otherwise.
    func dispatchersChanged(_ dispatchers: some Collection<Dispatcher>) {
        ruled = dispatchers.compactMap { dispatcher in dispatcher.settings.loadRule.map { (dispatcher.number, $0) } }
            .sorted { $0.number < $1.number }
        prepare()
    }

    /// Makes rules ready again, after they or the dispatchers have changed.
    private func prepare() {
        let resolver = RuleResolver(rules, patterns: PatternTable(patternCompiler))
        routing = LoadRouting(ruled, resolver: resolver)
        transformations.setResolver(resolver)
    }
}

/// Which dispatchers take events by rule. Made ready whenever rules or dispatchers change, so that an event costs no more
/// than the questions themselves; a rule that several dispatchers name is asked once.
struct LoadRouting {
    /// Dispatchers that share a rule. Without one they get nothing: it has a fault, like naming a rule that is not there.
    private struct Group {
        let rule: ResolvedRule?
        var dispatchers: [DispatcherNumber]
    }

    private var groups: [Group] = []

    /// Whether every event goes to all.
    var isEmpty: Bool { groups.isEmpty }

    init() {}

    /// - Parameter dispatchers: those with a rule.
    init(_ dispatchers: [(number: DispatcherNumber, rule: Rule)], resolver: RuleResolver) {
        var places: [String: Int] = [:]
        for (number, rule) in dispatchers {
            if case .reference(let id) = rule, let place = places[id] {
                groups[place].dispatchers.append(number)
                continue
            }
            if case .reference(let id) = rule { places[id] = groups.count }
            groups.append(Group(rule: try? resolver.resolve(rule), dispatchers: [number]))
        }
    }

    /// The dispatchers that do not want an event.
    func refusing(_ event: some EventFields) -> [DispatcherNumber] {
        var refusing: [DispatcherNumber] = []
        for group in groups where !(group.rule?.holds(for: event) ?? false) { refusing += group.dispatchers }
        return refusing
    }
}
