import HeadgateCore
import HeadgateData

extension GatewayRules {
    /// Reads the section `gateway` (Behaviour A7).
    init(_ reader: SettingsReader) {
        var allowsBypass = true
        reader.bool("allow_bypass", into: &allowsBypass)
        var rules: [GatewayPattern: Rule] = [:]
        reader.section("rules", most: Limits.mostRules) { section in
            section.refuseLookalikes()
            for text in section.keys {
                guard let rule = Rule(text, section) else { continue }
                guard let pattern = GatewayPattern(text) else {
                    section.fault(text, "", "must be named by a board, or by a prefix and *")
                    continue
                }
                rules[pattern] = rule
            }
        }
        self.init(rules, allowsBypass: allowsBypass)
        if let cycle {
            reader.fault("rules", "", "the gateways wait for each other in a circle: \(cycle.joined(separator: ", "))")
        }
    }
}

extension GatewayRules.Rule {
    /// Reads a rule. Returns nil if it is absent or wrong. A wrong rule is added to the reader's faults.
    fileprivate init?(_ key: String, _ reader: SettingsReader) {
        switch reader.item(key) {
        case nil: return nil
        case .string("exempt"): self = .exempt
        case .object:
            var barrier = ActivationBarrier(board: "")
            reader.section(key) { barrier.read($0) }
            self = .barrier(barrier)
        default:
            reader.fault(key, "", #"must be "exempt", or an object with a board"#)
            return nil
        }
    }
}

extension ActivationBarrier: SettingsSection {
    static let table = SettingsTable<ActivationBarrier>([
        .required("board", SettingsForm({ $0.boardName($1) }, { .string($0) }), \.board),
        .key("option", .word, \.option), .key("scope", .word, \.scope),
        .key("timeout_ms", .milliseconds(), \.timeout), .key("on_timeout", .word, \.onTimeout),
        .optional("sticky_ms", .milliseconds(), \.sticky),
    ])
}

extension SettingsReader {
    func boardName(_ key: String) -> String? {
        guard let name = string(key) else { return nil }
        guard let problem = BoardName.problem(about: name) else { return name }
        fault(key, "", problem)
        return nil
    }
}

extension GatewayRules.Rule {
    /// The rule in the form of a configuration.
    var setting: DataItem {
        switch self {
        case .exempt: "exempt"
        case .barrier(let barrier): .object(barrier.object)
        }
    }
}
