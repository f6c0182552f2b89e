import HeadgateCore
import HeadgateData

/// A reader of rules (Behaviour S5). A rule is a condition, `and`, `or`, `not`, or the ID of a rule in `load_rules`.
struct RuleReader {
    /// The IDs that a rule may name.
    let ids: NameSet
    /// Compiles and checks the regular expressions.
    let patterns = PatternTable(RE2Compiler())
    /// The rules that may be named, or nil until they are read. A rule is checked together with the rules that it
    /// names.
    var known: LoadRules?
    /// The IDs to which the rules read so far refer.
    let named = NamedRules()

    /// Reads the rule of a member. Returns nil if it is absent or wrong. A wrong rule is added to the reader's faults.
    func rule(_ key: String, in reader: SettingsReader) -> Rule? {
        guard let rule = reader.item(key).flatMap({ rule($0, at: key, in: reader) }) else { return nil }
        switch known?.fault(in: rule, patterns: patterns) {
        case .tooLarge: reader.fault(key, "", "\(RuleFault.tooLarge)")
        // These faults were already reported at the load rule that has them.
        case nil, .unknownRule, .cycle, .pattern: break
        }
        return rule
    }

    private func rule(_ item: DataItem, at key: String, in reader: SettingsReader) -> Rule? {
        switch item {
        case .string(let id) where ids.contains(id):
            named.ids.insert(id)
            return .reference(id)
        case .string(let id):
            reader.fault(key, "", "there is no load rule `\(id)`")
            return nil
        case .object(let object):
            let inner = reader.reader(object, at: key)
            defer { inner.finish() }
            return rule(inner)
        default:
            reader.fault(key, "", "must be a rule: an object, or the id of one in load_rules")
            return nil
        }
    }

    private func rule(_ reader: SettingsReader) -> Rule? {
        let given = RuleReader.forms.filter { reader.item($0) != nil }
        guard given.count == 1, let form = given.first else {
            reader.fault("must have exactly one of: " + RuleReader.forms.joined(separator: ", "))
            reader.acceptEveryKey()
            return nil
        }
        switch form {
        case "and": return rules("and", in: reader).map { .and($0) }
        case "or": return rules("or", in: reader).map { .or($0) }
        case "not": return rule("not", in: reader).map { .not($0) }
        default: return reader.condition(patterns).map { .just($0) }
        }
    }

    private static let forms = ["operator", "and", "or", "not"]

    private func rules(_ key: String, in reader: SettingsReader) -> [Rule]? {
        guard let items = reader.array(key) else { return nil }
        return items.enumerated().compactMap { rule($1, at: "\(key)[\($0)]", in: reader) }
    }
}

/// The IDs of the load rules to which other settings refer.
final class NamedRules {
    fileprivate(set) var ids = NameSet()
}

extension SettingsReader {
    /// Reads a condition: `{"operator", "path", "value"?, "ignore_case"?}`.
    fileprivate func condition(_ patterns: any PatternCompiler) -> Condition? {
        var ignoreCase = false
        bool("ignore_case", into: &ignoreCase)
        let path = eventPath("path")
        let value = itemOrNull("value")
        guard let word = item("operator").flatMap(String.init(dataItem:)),
            let name = Condition.Operator(rawValue: word)
        else {
            fault("operator", "", SettingsReader.mustBeOne(of: Condition.Operator.allCases.map(\.rawValue)))
            return nil
        }
        do throws(ConditionFault) {
            let condition = try Condition(name, path: path ?? "data", value: value, ignoreCase: ignoreCase)
            return path != nil && hasSoundPattern(condition, patterns) ? condition : nil
        } catch {
            fault("value", "", SettingsReader.message(of: error))
            return nil
        }
    }

    private func hasSoundPattern(_ condition: Condition, _ patterns: any PatternCompiler) -> Bool {
        do throws(PatternFault) {
            _ = try condition.compiledPattern(by: patterns)
            return true
        } catch {
            fault("value", "", "cannot be used as a regular expression: \(error.message)")
            return false
        }
    }

    /// Reads a required path.
    private func eventPath(_ key: String) -> EventPath? {
        require(key)
        guard let text = string(key) else { return nil }
        let path = EventPath(text)
        if let problem = path.problem(about: text) {
            fault(key, "", problem)
            return nil
        }
        return path
    }

    private static func message(of fault: ConditionFault) -> String {
        switch fault {
        case .valueIsMissing: "is required"
        case .valueMustBe(let what): "must be \(what)"
        }
    }
}

extension Settings {
    /// Reads the section `load_rules`.
    /// - Parameter program: the rules that the program adds, which may be named, too.
    /// - Returns: the reader of the rules that refer to them.
    mutating func readLoadRules(_ reader: SettingsReader, program: NameTable<Rule>) -> RuleReader {
        let object = reader.object("load_rules", most: Limits.mostRules) ?? [:]
        let holder = reader.reader(object, at: "load_rules")
        holder.refuseLookalikes()
        let ids = NameSet(object.filter { !$0.value.isNull }.map(\.key) + program.keys)
        var rules = RuleReader(ids: ids)
        for id in object.keys {
            loadRules[id] = rules.rule(id, in: holder)
        }
        let known = LoadRules(program.merging(loadRules))
        reportCycles(known, holder, rules.patterns)
        rules.known = known
        return rules
    }

    /// Warns of rules that no other setting names. Such a rule has no effect (Behaviour S5).
    func warnOfUnusedRules(_ reader: SettingsReader, _ rules: RuleReader, program: NameTable<Rule>) {
        let holder = reader.reader([:], at: "load_rules")
        for id in loadRules.keys.sorted() where !rules.named.ids.contains(id) && program[id] == nil {
            holder.warn(id, "", "is not used by any dispatcher, transformation or other rule")
        }
    }

    /// Reports each circle of rules once. A rule that only names a rule of a circle is not reported.
    private func reportCycles(_ known: LoadRules, _ holder: SettingsReader, _ patterns: any PatternCompiler) {
        for id in holder.keys {
            switch known.fault(in: .reference(id), patterns: patterns) {
            // The named rule is wrong itself, and was reported.
            case nil, .unknownRule: break
            case .cycle(let ids) where ids.first.map(ExactName.init) != ExactName(id): break
            case let fault?: holder.fault(id, "", "\(fault)")
            }
        }
    }
}

extension EventPath {
    /// Returns the fault of a path as written in the settings, or nil if the path is valid.
    func problem(about text: String) -> String? {
        if text.isEmpty { return "must be a path, like data.user.id" }
        return names.count <= SettingsText.maxDepth ? nil : "has more than \(SettingsText.maxDepth) levels"
    }
}
