extension Headgate {
    /// Names a rule, so that dispatchers (`DispatcherSettings.loadRule`), transformations and other rules can refer to it.
    /// It is in force for the next event; what is stored keeps its way (Behaviour P3). Rules may be set in any order; until
    /// what it names is there, nothing goes by a rule.
    ///
    /// Throws when the rule would come back to itself, is too large, or has a regular expression that ``patternCompiler``
    /// refuses; then nothing has changed.
    public func setLoadRule(_ rule: Rule, forId id: String) throws(RuleFault) {
        var changed = loadRules
        changed[id] = rule
        switch changed.fault(in: .reference(id), patterns: PatternTable(patternCompiler)) {
        case nil, .unknownRule: loadRules = changed
        case let fault?: throw fault
        }
    }

    /// What keeps a rule from being asked; nil when nothing does. For a rule that a dispatcher bears itself
    /// (`DispatcherSettings.loadRule`): it gets nothing while there is a fault.
    public func fault(in rule: Rule) -> RuleFault? {
        loadRules.fault(in: rule, patterns: PatternTable(patternCompiler))
    }

    /// Takes a rule away. What refers to it does not hold any more.
    public func removeLoadRule(forId id: String) {
        loadRules[id] = nil
    }

    /// Whether an event has to be shown to ``route(_:for:)``.
    public var hasLoadRules: Bool { !loadRouting.isEmpty }

    /// The dispatchers of a route that want an event (Behaviour P3).
    public func route(_ route: RouteNumber, for event: some EventFields) throws(TooManyRoutes) -> RouteNumber {
        let refusing = loadRouting.refusing(event)
        guard !refusing.isEmpty else { return route }
        return try routeNumber(of: events.routes.dispatchers(of: route).filter { !refusing.contains($0) })
    }

    /// Makes rules ready again, after they or the dispatchers have changed.
    func prepareLoadRules() {
        let ruled = dispatchers.values.compactMap { dispatcher in
            dispatcher.settings.loadRule.map { (dispatcher.number, $0) }
        }
        let resolver = RuleResolver(loadRules, patterns: PatternTable(patternCompiler))
        loadRouting = LoadRouting(ruled.sorted { $0.0 < $1.0 }, resolver: resolver)
        transformations.resolver = resolver
    }
}
