import HeadgateCore
import HeadgateData

extension Settings {
    /// Reads `load_rules`.
    /// - Parameter program: the rules that the program brings, which may be named as well.
    /// - Returns: what reads the rules that refer to them.
    mutating func readLoadRules(_ reader: SettingsReader, program: [String: Rule]) -> RuleReader {
        let object = reader.object("load_rules", most: Limits.mostRules) ?? [:]
        let holder = reader.reader(object, at: "load_rules")
        let ids = Set(object.filter { !$0.value.isNull }.map(\.key)).union(program.keys)
        var rules = RuleReader(ids: ids)
        for id in object.keys {
            loadRules[id] = rules.rule(id, in: holder)
        }
        let known = LoadRules(program.merging(loadRules) { $1 })
        noteCircles(known, holder, rules.patterns)
        rules.known = known
        return rules
    }

    /// Rules that come back to themselves are told of, each once; a rule that only names such a one is not.
    private func noteCircles(_ known: LoadRules, _ holder: SettingsReader, _ patterns: any PatternCompiler) {
        for id in holder.keys {
            switch known.fault(in: .reference(id), patterns: patterns) {
            // What it names was wrong itself, and has been told of.
            case nil, .unknownRule: break
            case .circle(let ids) where ids.first != id: break
            case let fault?: holder.fault(id, "", "\(fault)")
            }
        }
    }
}
