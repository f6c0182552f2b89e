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
