import HeadgateData

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

/// Says of an event whether something is to be done with it: whether a dispatcher gets it (Behaviour P3, S5), or whether
/// a transformation touches it (Behaviour P4).
public indirect enum Rule: Sendable, Equatable {
    /// True when the condition is.
    case just(Condition)
    /// True when all are; so is an empty one.
    case and([Rule])
    /// True when one is; an empty one is false.
    case or([Rule])
    /// True when the other is not: plain logic, also where a condition is false because it cannot be evaluated.
    case not(Rule)
    /// True when the load rule of this id is.
    case reference(String)
}

/// Why a rule cannot be asked.
public enum RuleFault: Error, Equatable, Sendable {
    /// It names a rule that is not there.
    case unknownRule(String)
    /// It comes back to itself: the ids on the way, the first again at the end.
    case circle([String])
    /// A regular expression in it cannot be used.
    case pattern(PatternFault)
    /// It is nested deeper than ``LoadRules/mostDepth``, or comes to more than ``LoadRules/mostConditions`` conditions, the
    /// rules that it names counted in.
    case tooLarge
}

extension RuleFault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unknownRule(let id): "there is no load rule `\(id)`"
        case .circle(let ids): "goes in a circle: \(ids.joined(separator: " → "))"
        case .pattern(let fault): "has a regular expression that cannot be used: \(fault.message)"
        case .tooLarge: "is too large, or nested too deep"
        }
    }
}
