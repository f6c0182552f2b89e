import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Load rules")
struct LoadRulesTests {
    static let event = EventDocument(members: ["event": "order", "data": ["plan": "pro"]])
    static let yes = Rule.just(.equals(ignoreCase: false, variable: "event", target: "order"))
    static let no = Rule.just(.equals(ignoreCase: false, variable: "event", target: "debug"))
    /// Asks for a string where nothing is.
    static let blind = Rule.just(.equals(ignoreCase: false, variable: "data.none", target: "x"))

    @Test("S5: and, or and not are plain logic, also around what cannot be evaluated")
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
            #expect(try LoadRules().resolve(rule).holds(for: Self.event) == holds, "\(rule)")
        }
    }

    @Test("S5: a rule may name others")
    func references() throws {
        let rules = LoadRules([
            "a": .not(.reference("b")), "b": .and([.reference("c"), .reference("c")]), "c": Self.no,
        ])
        #expect(try rules.resolve(.reference("a")).holds(for: Self.event))
        #expect(try !rules.resolve(.or([.reference("b"), .reference("c")])).holds(for: Self.event))
    }

    @Test("S5: unknown ids and circles are found")
    func faults() {
        let rules = LoadRules([
            "a": .and([Self.yes, .reference("b")]), "b": .not(.reference("c")), "c": .or([.reference("a")]),
            "d": .reference("d"), "e": .reference("nobody"), "f": .reference("a"), "fine": Self.yes,
        ])
        #expect(rules.fault(in: .reference("a")) == .circle(["a", "b", "c", "a"]))
        #expect(rules.fault(in: .reference("c")) == .circle(["c", "a", "b", "c"]))
        #expect(rules.fault(in: .reference("d")) == .circle(["d", "d"]))
        #expect(rules.fault(in: .reference("f")) == .circle(["a", "b", "c", "a"]))
        #expect(rules.fault(in: .reference("e")) == .unknownRule("nobody"))
        #expect(rules.fault(in: .and([.reference("fine"), .reference("fine")])) == nil)
    }

    @Test("S5: rules that grow beyond bounds by naming each other are refused in good time")
    func bounds() {
        var doubling = LoadRules(["r0": Self.yes])
        for step in 1...40 {
            doubling["r\(step)"] = .and([.reference("r\(step - 1)"), .reference("r\(step - 1)")])
        }
        #expect(doubling.fault(in: .reference("r5")) == nil)
        #expect(doubling.fault(in: .reference("r40")) == .tooLarge)
        var chain = LoadRules(["r0": Self.yes])
        for step in 1...1000 { chain["r\(step)"] = .reference("r\(step - 1)") }
        #expect(chain.fault(in: .reference("r100")) == nil)
        #expect(chain.fault(in: .reference("r1000")) == .tooLarge)
    }
}
