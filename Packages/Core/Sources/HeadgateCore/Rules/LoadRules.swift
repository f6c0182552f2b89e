/// The rules that have ids (Behaviour S5), by which dispatchers, transformations and other rules name them. Pure.
public struct LoadRules: Sendable, Equatable {
    private var rules: [String: Rule]

    /// How deep rules may be nested.
    public static let mostDepth = 256
    /// The most conditions that one rule may come to.
    public static let mostConditions = 10_000

    public init(_ rules: [String: Rule] = [:]) {
        self.rules = rules
    }

    /// The rule of an id.
    public subscript(id: String) -> Rule? {
        get { rules[id] }
        set { rules[id] = newValue }
    }

    /// What keeps a rule from being asked; nil when nothing does.
    /// - Parameter patterns: what the rule's regular expressions are compiled by; best a ``PatternTable``.
    public func fault(in rule: Rule, patterns: any PatternCompiler) -> RuleFault? {
        RuleResolver(self, patterns: patterns).fault(in: rule)
    }
}
