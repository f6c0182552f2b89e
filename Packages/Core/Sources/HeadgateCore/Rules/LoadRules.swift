import HeadgateData

/// The named rules (Behaviour S5), which dispatchers, transformations and other rules refer to by id. Pure.
public struct LoadRules: Sendable, Equatable {
    private var rules: NameTable<Rule>

    /// The deepest nesting of rules.
    public static let mostDepth = 256
    /// The most conditions of one rule, with those of the rules it refers to.
    public static let mostConditions = 10_000

    public init(_ rules: NameTable<Rule> = [:]) {
        self.rules = rules
    }

    /// The rule with an id.
    public subscript(id: String) -> Rule? {
        get { rules[id] }
        set { rules[id] = newValue }
    }

    /// Returns the fault that prevents a rule from being evaluated, or nil if there is none.
    /// - Parameter patterns: compiles regular expressions; preferably a ``PatternTable``.
    public func fault(in rule: Rule, patterns: any PatternCompiler) -> RuleFault? {
        RuleResolver(self, patterns: patterns).fault(in: rule)
    }
}

/// A Boolean expression over an event. It decides whether a dispatcher gets the event (Behaviour P3, S5), or whether a
/// transformation applies to it (Behaviour P4).
public indirect enum Rule: Sendable {
    /// True if the condition is true.
    case just(Condition)
    /// True if all rules are true; true if there are none.
    case and([Rule])
    /// True if at least one rule is true; false if there are none.
    case or([Rule])
    /// True if the rule is false, also if a condition in it is false because it cannot be evaluated.
    case not(Rule)
    /// True if the load rule with this id is true.
    case reference(String)
}

/// Ids are compared by their bytes.
extension Rule: Equatable {
    public static func == (left: Rule, right: Rule) -> Bool {
        switch (left, right) {
        case (.just(let left), .just(let right)): left == right
        case (.and(let left), .and(let right)), (.or(let left), .or(let right)): left == right
        case (.not(let left), .not(let right)): left == right
        case (.reference(let left), .reference(let right)): ExactName(left) == ExactName(right)
        case (.just, _), (.and, _), (.or, _), (.not, _), (.reference, _): false
        }
    }
}

/// The fault of a rule that cannot be evaluated.
public enum RuleFault: Error, Equatable, Sendable {
    /// The rule refers to a rule that does not exist.
    case unknownRule(String)
    /// The rule refers to itself. The value is the ids on the cycle, with the first one repeated at the end.
    case cycle([String])
    /// A regular expression is invalid.
    case pattern(PatternFault)
    /// The rule is nested deeper than ``LoadRules/mostDepth`` or has more than ``LoadRules/mostConditions`` conditions,
    /// with the rules it refers to.
    case tooLarge
}

extension RuleFault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unknownRule(let id): "there is no load rule `\(id)`"
        case .cycle(let ids): "refers to itself: \(ids.joined(separator: " → "))"
        case .pattern(let fault): "has a regular expression that cannot be used: \(fault.message)"
        case .tooLarge: "is too large or nested too deeply"
        }
    }
}
