import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Load rules")
struct LoadRulesTests {
    static let event = EventDocument(members: ["event": "order", "data": ["plan": "pro"]])
    static let yes = Rule.just(.equals(ignoreCase: false, variable: "event", target: "order"))
    static let no = Rule.just(.equals(ignoreCase: false, variable: "event", target: "debug"))
    /// A rule that cannot be evaluated, since its variable is missing.
    static let blind = Rule.just(.equals(ignoreCase: false, variable: "data.none", target: "x"))

    @Test("S5: and, or and not follow plain logic, even with conditions that cannot be evaluated")
    func logic() throws {
        let (yes, no, blind) = (Self.yes, Self.no, Self.blind)
        let notBlind = try Rule.just(Condition(.notEquals, path: "data.none", value: "x"))
        let expected: [(Rule, Bool)] = [
            (yes, true), (no, false), (blind, false), (notBlind, false), (.not(notBlind), true), (.not(blind), true),
            (.not(yes), false), (.not(.not(yes)), true), (.and([]), true), (.or([]), false), (.and([yes, yes]), true),
            (.and([yes, no]), false), (.or([no, yes]), true), (.or([no, no]), false),
            (.and([.or([no, yes]), .not(no)]), true), (.not(.and([yes, blind])), true),
        ]
        for (rule, holds) in expected {
            #expect(try RuleResolver().resolve(rule).holds(for: Self.event) == holds, "\(rule)")
        }
    }

    @Test("S5: two ids that look alike but differ in bytes are two rules, and references compare bytes")
    func lookalikes() throws {
        let (one, two) = ("caf\u{E9}", "cafe\u{301}")
        var rules = LoadRules([one: Self.yes])
        #expect(rules[two] == nil && RuleResolver(rules).fault(in: .reference(two)) != nil)
        rules[two] = .not(.reference(one))
        #expect(RuleResolver(rules).fault(in: .reference(two)) == nil && rules[one] == Self.yes)
        #expect(Rule.reference(one) != .reference(two) && EventPath("data." + one) != EventPath("data." + two))
        let conditions = try [one, two].map { try Condition(.equals, path: "event", value: .string($0)) }
        #expect(conditions[0] != conditions[1])
    }

    @Test("S5: a rule may reference others")
    func references() throws {
        let rules = LoadRules([
            "a": .not(.reference("b")), "b": .and([.reference("c"), .reference("c")]), "c": Self.no,
        ])
        let resolver = RuleResolver(rules)
        #expect(try resolver.resolve(.reference("a")).holds(for: Self.event))
        #expect(try !resolver.resolve(.or([.reference("b"), .reference("c")])).holds(for: Self.event))
    }

    @Test("S5: unknown ids and cycles are found")
    func faults() {
        let rules = LoadRules([
            "a": .and([Self.yes, .reference("b")]), "b": .not(.reference("c")), "c": .or([.reference("a")]),
            "d": .reference("d"), "e": .reference("nobody"), "f": .reference("a"), "fine": Self.yes,
        ])
        #expect(RuleResolver(rules).fault(in: .reference("a")) == .cycle(["a", "b", "c", "a"]))
        #expect(RuleResolver(rules).fault(in: .reference("c")) == .cycle(["c", "a", "b", "c"]))
        #expect(RuleResolver(rules).fault(in: .reference("d")) == .cycle(["d", "d"]))
        #expect(RuleResolver(rules).fault(in: .reference("f")) == .cycle(["a", "b", "c", "a"]))
        #expect(RuleResolver(rules).fault(in: .reference("e")) == .unknownRule("nobody"))
        #expect(RuleResolver(rules).fault(in: .and([.reference("fine"), .reference("fine")])) == nil)
    }

    @Test("S5: an unknown id does not hide other errors")
    func faultsBehindUnknown() {
        let rules = LoadRules(["a": .and([.reference("nobody"), .reference("a")])])
        let patterns = LiteralPatterns()
        #expect(rules.fault(in: .reference("a"), patterns: patterns) == .cycle(["a", "a"]))
        let refused = Rule.just(.regularExpression(ignoreCase: false, variable: "event", target: "("))
        #expect(
            rules.fault(in: .or([.reference("nobody"), refused]), patterns: patterns)
                == .pattern(PatternFault("missing )")))
    }

    @Test("S5: a regular expression is compiled once for all rules that use it")
    func patterns() throws {
        let isOrder = Rule.just(.regularExpression(ignoreCase: false, variable: "event", target: "rde"))
        let isAnyCase = Rule.just(.regularExpression(ignoreCase: true, variable: "event", target: "RDE"))
        let library = LiteralPatterns()
        let resolver = RuleResolver(LoadRules(["a": isOrder]), patterns: PatternTable(library))
        let rule = try resolver.resolve(.and([.reference("a"), .reference("a"), isOrder, isAnyCase]))
        #expect(rule.holds(for: Self.event))
        #expect(library.count == 2)
        #expect(try !resolver.resolve(.not(isOrder)).holds(for: Self.event))
        #expect(library.count == 2)
    }

    @Test("S5: rules that become too large by references are rejected quickly")
    func bounds() {
        var doubling = LoadRules(["r0": Self.yes])
        for step in 1...40 {
            doubling["r\(step)"] = .and([.reference("r\(step - 1)"), .reference("r\(step - 1)")])
        }
        #expect(RuleResolver(doubling).fault(in: .reference("r5")) == nil)
        #expect(RuleResolver(doubling).fault(in: .reference("r40")) == .tooLarge)
        var chain = LoadRules(["r0": Self.yes])
        for step in 1...1000 { chain["r\(step)"] = .reference("r\(step - 1)") }
        #expect(RuleResolver(chain).fault(in: .reference("r100")) == nil)
        #expect(RuleResolver(chain).fault(in: .reference("r1000")) == .tooLarge)
    }
}
