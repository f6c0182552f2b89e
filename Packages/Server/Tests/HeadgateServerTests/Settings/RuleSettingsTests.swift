import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Settings of rules")
struct RuleSettingsTests {
    private static let operators =
        "must be one of: equals, not_equals, starts_with, not_starts_with, ends_with, not_ends_with, contains, not_contains, "
        + "regular_expression, not_regular_expression, greater_than, greater_than_or_equals, less_than, "
        + "less_than_or_equals, is_defined, is_not_defined, is_empty, is_not_empty"

    private func reading(_ rules: String) throws -> SettingsReading {
        try .of(#"{"dispatchers": {"d": {"kind": "file", "path": "f"}}, "load_rules": {\#(rules)}}"#)
    }

    @Test("S5: rules are read inline, as references to other rules, and in a dispatcher's settings")
    func reads() throws {
        let reading = try SettingsReading.of(
            #"""
            {"dispatchers": {
               "a": {"kind": "file", "path": "a", "load_rule": {"operator": "is_defined", "path": "data.user.id"}},
               "b": {"kind": "file", "path": "b", "load_rule": "alias"}},
             "load_rules": {
               "big": {"operator": "greater_than", "path": "data.total", "value": 9007199254740993},
               "both": {"and": ["big", {"or": [{"not": "big"}, {"operator": "equals", "path": "event", "value": "X", "ignore_case": true}]}]},
               "alias": "both", "gone": null}}
            """#)
        #expect(reading.findings == SettingsFindings())
        let settings = try #require(reading.settings)
        let big = Rule.just(try Condition(.greaterThan, path: "data.total", value: 9_007_199_254_740_993))
        let isX = Rule.just(.equals(ignoreCase: true, variable: "event", target: "X"))
        #expect(
            settings.loadRules == [
                "big": big, "both": .and([.reference("big"), .or([.not(.reference("big")), isX])]),
                "alias": .reference("both"),
            ])
        #expect(
            settings.dispatchers.map(\.common.loadRule) == [
                .just(try Condition(.isDefined, path: "data.user.id")), .reference("alias"),
            ])
    }

    @Test(
        "S5: a fault in a rule is reported with its path",
        arguments: [
            (
                #""a": {"and": ["b", {"operator": "like", "path": "event", "value": 1}]}, "b": {"or": []}"#,
                ["load_rules.a.and[1].operator: \(operators)"]
            ),
            (#""a": {"operator": 5, "path": "event"}"#, ["load_rules.a.operator: \(operators)"]),
            (#""a": {"not": "b"}"#, ["load_rules.a.not: there is no load rule `b`"]),
            (#""a": "b""#, ["load_rules.a: there is no load rule `b`"]),
            (#""a": 5"#, ["load_rules.a: must be a rule: an object, or the id of one in load_rules"]),
            (#""a": {"or": {}}"#, ["load_rules.a.or: must be a list"]),
            (
                #""a": {"or": [null]}"#,
                ["load_rules.a.or[0]: must be a rule: an object, or the id of one in load_rules"]
            ),
            (#""a": {}"#, ["load_rules.a: must have exactly one of: operator, and, or, not"]),
            (
                #""a": {"and": [], "operator": "equals"}"#,
                ["load_rules.a: must have exactly one of: operator, and, or, not"]
            ),
            (
                #""a": {"not": {"operator": "equals"}}"#,
                ["load_rules.a.not.path: is required", "load_rules.a.not.value: is required"]
            ),
            (#""a": {"operator": "is_defined", "path": ""}"#, ["load_rules.a.path: must be a path, like data.user.id"]),
            (#""a": {"operator": "is_defined", "path": 1}"#, ["load_rules.a.path: must be a string"]),
            (
                #""a": {"operator": "is_empty", "path": "\#(String(repeating: "x.", count: 70))"}"#,
                ["load_rules.a.path: has more than 64 levels"]
            ),
            (#""a": {"operator": "less_than", "path": "x", "value": "5"}"#, ["load_rules.a.value: must be a number"]),
            (#""a": {"operator": "contains", "path": "x", "value": 5}"#, ["load_rules.a.value: must be a string"]),
            (
                #""a": {"operator": "equals", "path": "x", "value": []}"#,
                ["load_rules.a.value: must be a string, a number, true, false or null"]
            ),
            (
                #""a": {"operator": "equals", "path": "x", "value": "", "ignore_case": 1}"#,
                ["load_rules.a.ignore_case: must be true or false"]
            ),
            (
                #""a": {"operator": "not_regular_expression", "path": "x", "value": "a("}"#,
                ["load_rules.a.value: cannot be used as a regular expression: missing ): a("]
            ),
            (#""a": "a""#, ["load_rules.a: refers to itself: a → a"]),
            (
                #""a": {"not": "b"}, "b": {"and": ["c"]}, "c": {"or": ["a"]}, "d": "a""#,
                ["a → b → c → a", "b → c → a → b", "c → a → b → c"].map {
                    "load_rules.\($0.prefix(1)): refers to itself: \($0)"
                }
            ),
        ])
    func faults(rules: String, lines: [String]) throws {
        let reading = try reading(rules)
        // A rule that no other setting names causes a warning, not a fault.
        #expect(reading.faults.map(\.description) == lines)
        #expect(reading.settings == nil)
    }

    @Test("S5: the operators equals and not_equals accept null as value; a missing value is a fault")
    func null() throws {
        let condition = { (name: String, value: String) in #"{"operator": "\#(name)", "path": "x"\#(value)}"# }
        for name in [Condition.Operator.equals, .notEquals] {
            let reading = try reading(#""a": \#(condition(name.rawValue, #", "value": null"#))"#)
            #expect(reading.faults.isEmpty)
            #expect(reading.settings?.loadRules == ["a": .just(try Condition(name, path: "x", value: .null))])
            let nested = try self.reading(#""a": {"and": [\#(condition(name.rawValue, #", "value": null"#))]}"#)
            #expect(nested.faults.isEmpty)
            let missing = try self.reading(#""a": \#(condition(name.rawValue, ""))"#)
            #expect(missing.faults.map(\.description) == ["load_rules.a.value: is required"])
        }
        let number = try reading(#""a": \#(condition("less_than", #", "value": null"#))"#)
        #expect(number.faults.map(\.description) == ["load_rules.a.value: must be a number"])
    }

    @Test("S5: null in a patch removes a rule's value; in a patch with the operator, null is the value")
    func valueTakenAway() throws {
        let rule: DataObject = ["operator": "equals", "path": "x", "value": "y"]
        let settings: DataObject = [
            "dispatchers": ["d": ["kind": "file", "path": "f", "load_rule": "a"]], "load_rules": ["a": .object(rule)],
        ]
        func reading(_ patch: DataObject) -> SettingsReading {
            Settings.read(settings.patched(with: ["load_rules": ["a": .object(patch)]]))
        }
        #expect(reading(["value": .null]).faults.map(\.description) == ["load_rules.a.value: is required"])
        let replaced = reading(["operator": "not_equals", "value": .null])
        #expect(replaced.faults.isEmpty)
        #expect(replaced.settings?.loadRules == ["a": .just(try Condition(.notEquals, path: "x", value: .null))])
    }

    @Test("S5: rule ids are compared by bytes, not by Unicode equivalence")
    func lookalike() throws {
        let reading = try reading(#""caf\u00e9": {"or": []}, "b": "cafe\u0301""#)
        #expect(reading.faults.map(\.path) == ["load_rules.b"])
        #expect(reading.faults.first?.message.hasPrefix("there is no load rule") == true)
    }

    @Test("S5: a rule that no setting names causes a warning")
    func unnamed() throws {
        let reading = try reading(#""a": {"not": "b"}, "b": {"or": []}"#)
        #expect(reading.faults.isEmpty)
        #expect(reading.warnings.map(\.path) == ["load_rules.a"])
    }

    @Test("S5: rules whose references grow exponentially are refused without expanding them")
    func doubling() throws {
        let rules = (1...60).map { #""r\#($0)": {"and": ["r\#($0 - 1)", "r\#($0 - 1)"]}"# }
        let reading = try reading(#""r0": {"operator": "is_defined", "path": "x"}, "# + rules.joined(separator: ", "))
        #expect(reading.faults.last?.description == "load_rules.r60: is too large or nested too deeply")
    }

    @Test("S2: a rule in a dispatcher's settings is checked like a named one, and an unknown key is a fault")
    func dispatcherRule() throws {
        let faults = try SettingsReading.ofDispatcher(#""kind": "file", "path": "f", "load_rule": "nobody""#)
        #expect(faults.findings.lines == ["dispatchers.d.load_rule: there is no load rule `nobody`"])
        let warnings = try SettingsReading.ofDispatcher(
            #""kind": "file", "path": "f", "load_rule": {"operator": "is_empty", "path": "x", "values": 1}"#)
        #expect(
            warnings.findings.lines == ["dispatchers.d.load_rule.values: unknown key; the closest known key is `value`"]
        )
        #expect(warnings.settings == nil)
    }
}
