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
