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
    public func fault(in rule: Rule) -> RuleFault? {
        do throws(RuleFault) {
            _ = try resolve(rule)
            return nil
        } catch {
            return error
        }
    }

    /// Puts the rules that a rule names in their places.
    func resolve(_ rule: Rule) throws(RuleFault) -> ResolvedRule {
        var resolution = Resolution(rules: rules)
        return try resolution.resolve(rule)
    }
}

extension LoadRules {
    /// One way through rules that name each other. What a rule comes to is counted each time it is met, so that rules that
    /// double each other's size are found out before they take up all time.
    private struct Resolution {
        let rules: [String: Rule]
        /// The ids on the way here.
        private var way: [String] = []
        private var depth = 0
        private var conditions = 0

        init(rules: [String: Rule]) {
            self.rules = rules
        }

        mutating func resolve(_ rule: Rule) throws(RuleFault) -> ResolvedRule {
            depth += 1
            defer { depth -= 1 }
            guard depth <= LoadRules.mostDepth, conditions <= LoadRules.mostConditions else { throw .tooLarge }
            switch rule {
            case .just(let condition):
                conditions += 1
                return .just(condition)
            case .and(let rules): return .and(try resolve(rules))
            case .or(let rules): return .or(try resolve(rules))
            case .not(let rule): return .not(try resolve(rule))
            case .reference(let id): return try resolve(reference: id)
            }
        }

        private mutating func resolve(_ rules: [Rule]) throws(RuleFault) -> [ResolvedRule] {
            conditions += 1
            var resolved: [ResolvedRule] = []
            for rule in rules { resolved.append(try resolve(rule)) }
            return resolved
        }

        private mutating func resolve(reference id: String) throws(RuleFault) -> ResolvedRule {
            if let start = way.firstIndex(of: id) { throw .circle(way[start...] + [id]) }
            guard let rule = rules[id] else { throw .unknownRule(id) }
            way.append(id)
            defer { way.removeLast() }
            return try resolve(rule)
        }
    }
}
