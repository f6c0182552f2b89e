import Testing

/// Every operator of a load rule, applied to one event. The event names one dispatcher, so it is unrouted if the rule
/// is false.
@Suite struct LoadRuleOperatorTests {
    struct Case: Sendable {
        let rule: JSON
        let wants: Bool
    }

    static let event: JSON = [
        "event": "Signup",
        "data": ["n": 5, "text": "Blue Moon", "empty": "", "user": ["id": "u-7"], "on": true, "none": .null],
    ]

    @Test("S5: operators and their negations, over nested paths, missing keys and wrong types")
    func operators() async throws {
        try await expect(
            Self.strings + Self.numbers + Self.nulls + Self.definitions + Self.missing + Self.combinations)
    }

    static let strings = [
        condition("equals", "event", "Signup", true), condition("equals", "event", "signup", false),
        condition("equals", "data.n", 5, true), condition("equals", "data.on", true, true),
        condition("not_equals", "event", "Login", true), condition("not_equals", "event", "Signup", false),
        condition("starts_with", "data.text", "Blue", true), condition("not_starts_with", "data.text", "Blue", false),
        condition("ends_with", "data.text", "Moon", true), condition("not_ends_with", "data.text", "Blue", true),
        condition("contains", "data.user.id", "-", true), condition("not_contains", "data.user.id", "x", true),
        condition("regular_expression", "data.user.id", "^u-[0-9]+$", true),
        condition("regular_expression", "data.user.id", "^[0-9]+$", false),
        condition("not_regular_expression", "data.user.id", "^[0-9]+$", true),
        Case(rule: ["operator": "equals", "path": "event", "value": "sIGNUP", "ignore_case": true], wants: true),
        Case(rule: ["operator": "contains", "path": "data.text", "value": "E MOO", "ignore_case": true], wants: true),
    ]

    static let numbers = [
        condition("greater_than", "data.n", 4.5, true), condition("greater_than", "data.n", 5, false),
        condition("greater_than_or_equals", "data.n", 5, true), condition("less_than", "data.n", 5, false),
        condition("less_than_or_equals", "data.n", 5, true), condition("less_than", "data.n", 6, true),
    ]

    static let nulls = [
        condition("equals", "data.none", .null, true), condition("equals", "data.text", .null, false),
        condition("equals", "data.gone", .null, false), condition("not_equals", "data.none", .null, false),
        condition("not_equals", "data.text", .null, true), condition("not_equals", "data.gone", .null, false),
        Case(rule: ["not": ["operator": "equals", "path": "data.none", "value": .null]], wants: false),
    ]

    static let definitions = [
        condition("is_defined", "data.user", nil, true), condition("is_defined", "data.user.name", nil, false),
        condition("is_not_defined", "data.user.name", nil, true), condition("is_not_defined", "data.n", nil, false),
        condition("is_empty", "data.empty", nil, true), condition("is_empty", "data.text", nil, false),
        condition("is_not_empty", "data.text", nil, true), condition("is_not_empty", "data.empty", nil, false),
        condition("is_defined", "context.uid", nil, true),
    ]

    /// A condition that cannot be evaluated is false, even with a negated operator.
    static let missing = [
        condition("equals", "data.gone", "x", false), condition("not_equals", "data.gone", "x", false),
        condition("not_contains", "data.gone", "x", false), condition("is_not_empty", "data.gone", nil, false),
        condition("greater_than", "data.text", 1, false), condition("not_starts_with", "data.user", "x", false),
        // `not` around a rule negates its result.
        Case(rule: ["not": ["operator": "equals", "path": "data.gone", "value": "x"]], wants: true),
    ]

    static let combinations = [
        Case(rule: ["and": [yes, yes]], wants: true), Case(rule: ["and": [yes, no]], wants: false),
        Case(rule: ["or": [no, yes]], wants: true), Case(rule: ["or": [no, no]], wants: false),
        Case(rule: ["and": [["or": [no, yes]], ["not": no]]], wants: true),
        Case(rule: ["and": ["is_signup", ["not": "is_signup"]]], wants: false), Case(rule: "is_signup", wants: true),
    ]

    private static let yes: JSON = ["operator": "equals", "path": "event", "value": "Signup"]
    private static let no: JSON = ["operator": "equals", "path": "event", "value": "Login"]

    private static func condition(_ name: String, _ path: String, _ value: JSON?, _ wants: Bool) -> Case {
        var rule: JSON = ["operator": .string(name), "path": .string(path)]
        if let value { rule["value"] = value }
        return Case(rule: rule, wants: wants)
    }

    private func expect(_ cases: [Case]) async throws {
        try await withScene { scene in
            let dispatchers = cases.enumerated().map { index, one in
                ("d\(index)", ["kind": "file", "path": "d\(index).ndjson", "load_rule": one.rule] as JSON)
            }
            let daemon = try await scene.daemon([
                "dispatchers": .object(Dictionary(dispatchers) { $1 }), "load_rules": ["is_signup": Self.yes],
            ])
            let client = try await daemon.connect()
            for (index, one) in cases.enumerated() {
                let answer = try await client.result(
                    "track", Self.event.merging(["dispatchers": ["d\(index)"]]))
                #expect((answer["unrouted"] != true) == one.wants, "\(one.rule)")
            }
            let unwanted = cases.count { !$0.wants }
            #expect(try await daemon.counter("unrouted") == unwanted)
        }
    }
}
