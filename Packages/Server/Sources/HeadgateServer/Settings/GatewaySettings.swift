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
        if let circle {
            reader.fault("rules", "", "the gateways wait for each other in a circle: \(circle.joined(separator: ", "))")
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

extension ActivationBarrier {
    fileprivate mutating func read(_ reader: SettingsReader) {
        reader.require("board")
        board = reader.boardName("board") ?? board
        reader.word("option", of: Option.allCases, into: &option)
        reader.word("scope", of: Scope.allCases, into: &scope)
        reader.milliseconds("timeout_ms", into: &timeout)
        reader.word("on_timeout", of: OnTimeout.allCases, into: &onTimeout)
        sticky = reader.milliseconds("sticky_ms")
    }
}

extension SettingsReader {
    func boardName(_ key: String) -> String? {
        guard let name = string(key) else { return nil }
        guard let complaint = BoardName.complaint(about: name) else { return name }
        fault(key, "", complaint)
        return nil
    }
}

extension GatewayRules.Rule {
    /// The rule as it stands in a configuration.
    var setting: DataItem {
        switch self {
        case .exempt: "exempt"
        case .barrier(let barrier): .object(barrier.setting)
        }
    }
}

extension ActivationBarrier {
    fileprivate var setting: DataObject {
        var setting: DataObject = [
            "board": .string(board), "option": .string(option.rawValue), "scope": .string(scope.rawValue),
            "timeout_ms": .number(DataNumber(Int(timeout.wholeMilliseconds))),
            "on_timeout": .string(onTimeout.rawValue),
        ]
        if let sticky { setting["sticky_ms"] = .number(DataNumber(Int(sticky.wholeMilliseconds))) }
        return setting
    }
}
