import HeadgateData

/// An erasure that takes several parts, as the store keeps it until its last event is erased, so that a later process
/// can finish it (Behaviour E2). Pure.
struct KeptErasure: Equatable {
    /// The condition for the events. It names no other rule.
    var rule: Rule
    /// The last event that may be erased.
    var through: SequenceNumber
    /// The operator's reason.
    var reason: String?

    /// The name under which the store keeps it.
    static let name = "erasure"

    init(_ rule: Rule, through: SequenceNumber, reason: String?) {
        (self.rule, self.through, self.reason) = (rule, through, reason)
    }

    /// Reads a kept erasure; nil if the object is not an erasure.
    init?(kept object: DataObject) {
        guard let rule = object["when"].flatMap({ Rule(kept: $0) }), let through: Int = object.get(key: "through")
        else { return nil }
        self.init(rule, through: SequenceNumber(through), reason: object.get(key: "reason"))
    }

    var kept: [UInt8] {
        let item: DataItem = [
            "when": rule.kept, "through": .number(DataNumber(through)), "reason": reason.map { .string($0) } ?? .null,
        ]
        return Array(item.json.utf8)
    }
}

extension Rule {
    /// Returns the rule with all named rules in place of their ids. A rule that does not exist is false.
    /// - Precondition: no rule refers to itself.
    func inlined(_ rules: LoadRules) -> Rule {
        switch self {
        case .just: self
        case .and(let parts): .and(parts.map { $0.inlined(rules) })
        case .or(let parts): .or(parts.map { $0.inlined(rules) })
        case .not(let part): .not(part.inlined(rules))
        case .reference(let id): rules[id]?.inlined(rules) ?? .or([])
        }
    }

    /// The rule in the form of settings.
    fileprivate var kept: DataItem {
        switch self {
        case .just(let condition): condition.kept
        case .and(let parts): ["and": .array(parts.map(\.kept))]
        case .or(let parts): ["or": .array(parts.map(\.kept))]
        case .not(let part): ["not": part.kept]
        case .reference(let id): .string(id)
        }
    }

    fileprivate init?(kept item: DataItem) {
        guard case .object(let object) = item else { return nil }
        if let parts = object["and"] {
            guard let rules = Rule.all(kept: parts) else { return nil }
            self = .and(rules)
        } else if let parts = object["or"] {
            guard let rules = Rule.all(kept: parts) else { return nil }
            self = .or(rules)
        } else if let part = object["not"] {
            guard let rule = Rule(kept: part) else { return nil }
            self = .not(rule)
        } else {
            guard let condition = Condition(kept: object) else { return nil }
            self = .just(condition)
        }
    }

    private static func all(kept item: DataItem) -> [Rule]? {
        guard case .array(let items) = item else { return nil }
        let rules = items.compactMap { Rule(kept: $0) }
        return rules.count == items.count ? rules : nil
    }
}

extension Condition {
    fileprivate var kept: DataItem {
        var object: DataObject = [
            "operator": .string(self.operator.rawValue), "path": .string(path.text), "ignore_case": .bool(ignoreCase),
        ]
        object["value"] = value
        return .object(object)
    }

    fileprivate init?(kept object: DataObject) {
        guard let name: String = object.get(key: "operator"), let word = Operator(rawValue: name),
            let path: String = object.get(key: "path")
        else { return nil }
        try? self.init(
            word, path: EventPath(path), value: object["value"], ignoreCase: object.get(key: "ignore_case") ?? false)
    }
}
