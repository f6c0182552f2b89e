import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

/// Every operator applied to a value of every type.
@Suite("Conditions")
struct ConditionTests {
    /// An event whose data has a member for each value, named after the value.
    static let event = EventDocument(members: [
        "event": "Order", "context": ["uid": 1000],
        "data": [
            "null": nil, "true": true, "false": false, "5": 5, "7": 7.0, "abc": "abc", "ABC": "ABC", "digit": "5",
            "": "", "[]": [], "[1]": [1], "{}": [:], "{1}": ["a": 1],
        ],
    ])
    static let names = event.data.keys + ["missing"]

    struct Row: Sendable, CustomTestStringConvertible {
        let `operator`: Condition.Operator
        let value: DataItem?
        let isTrueFor: Set<String>
        var ignoreCase = false

        init(_ operator: Condition.Operator, _ value: DataItem?, _ isTrueFor: Set<String>, ignoreCase: Bool = false) {
            self.operator = `operator`
            self.value = value
            self.isTrueFor = isTrueFor
            self.ignoreCase = ignoreCase
        }

        var testDescription: String { "\(`operator`.rawValue) \(value?.json ?? "")\(ignoreCase ? " (no case)" : "")" }
    }

    static let all = Set(names)

    static let rows = [
        Row(.equals, "abc", ["abc"]),
        Row(.equals, "aBC", ["abc", "ABC"], ignoreCase: true),
        Row(.equals, "", [""]),
        Row(.equals, 5, ["5"]),
        Row(.equals, 7, ["7"]),
        Row(.equals, true, ["true"]),
        Row(.equals, .null, ["null"]),
        Row(.notEquals, "abc", ["ABC", "digit", ""]),
        Row(.notEquals, "abc", ["digit", ""], ignoreCase: true),
        Row(.notEquals, 5, ["7"]),
        Row(.notEquals, true, ["false"]),
        Row(.notEquals, .null, all.subtracting(["null", "missing"])),
        Row(.startsWith, "a", ["abc"]),
        Row(.startsWith, "A", ["abc", "ABC"], ignoreCase: true),
        Row(.startsWith, "abcd", []),
        Row(.startsWith, "", ["abc", "ABC", "digit", ""]),
        Row(.notStartsWith, "a", ["ABC", "digit", ""]),
        Row(.endsWith, "bc", ["abc"]),
        Row(.endsWith, "bC", ["abc", "ABC"], ignoreCase: true),
        Row(.notEndsWith, "bc", ["ABC", "digit", ""]),
        Row(.contains, "b", ["abc"]),
        Row(.contains, "bc", ["abc"]),
        Row(.contains, "ac", []),
        Row(.contains, "B", ["abc", "ABC"], ignoreCase: true),
        Row(.notContains, "b", ["ABC", "digit", ""]),
        Row(.regularExpression, "b", ["abc"]),
        Row(.regularExpression, "b", ["abc", "ABC"], ignoreCase: true),
        Row(.notRegularExpression, "b", ["ABC", "digit", ""]),
        // An invalid regular expression cannot be evaluated.
        Row(.regularExpression, "?", []),
        Row(.notRegularExpression, "?", []),
        Row(.greaterThan, 5, ["7"]),
        Row(.greaterThanOrEquals, 5, ["5", "7"]),
        Row(.lessThan, 7, ["5"]),
        Row(.lessThanOrEquals, 7, ["5", "7"]),
        Row(.isDefined, nil, all.subtracting(["missing"])),
        Row(.isNotDefined, nil, ["missing"]),
        Row(.isEmpty, nil, ["null", "", "[]", "{}"]),
        Row(.isNotEmpty, nil, ["abc", "ABC", "digit", "[1]", "{1}"]),
    ]

    @Test(
        "S5: each operator is true for the listed values, and false for missing values or wrong types", arguments: rows)
    func table(row: Row) throws {
        for name in Self.names {
            let condition = try Condition(
                row.operator, path: EventPath("data.\(name)"), value: row.value, ignoreCase: row.ignoreCase)
            #expect(try holds(condition) == row.isTrueFor.contains(name), "\(name)")
        }
    }

    private func holds(_ condition: Condition, for event: EventDocument = event) throws -> Bool {
        try ReadyCondition(condition, patterns: LiteralPatterns()).holds(for: event)
    }

    @Test("S5: the table has rows for every operator")
    func allOperators() {
        #expect(Set(Self.rows.map(\.operator)) == Set(Condition.Operator.allCases))
    }

    @Test("S5: a condition with a value of the wrong type is rejected", arguments: Condition.Operator.allCases)
    func wrongValues(operator: Condition.Operator) throws {
        let isAllowed: (DataItem) -> Bool = { value in
            switch (`operator`, value) {
            case (.isDefined, _), (.isNotDefined, _), (.isEmpty, _), (.isNotEmpty, _): true
            case (.equals, .array), (.notEquals, .array), (.equals, .object), (.notEquals, .object): false
            case (.equals, _), (.notEquals, _): true
            case (.greaterThan, .number), (.greaterThanOrEquals, .number): true
            case (.lessThan, .number), (.lessThanOrEquals, .number): true
            case (.greaterThan, _), (.greaterThanOrEquals, _), (.lessThan, _), (.lessThanOrEquals, _): false
            case (_, .string): true
            default: false
            }
        }
        for value in [nil, true, 1, "x", [], [:]] as [DataItem] {
            let condition = try? Condition(`operator`, path: "data.x", value: value)
            #expect((condition != nil) == isAllowed(value), "\(value.json)")
        }
        #expect(((try? Condition(`operator`, path: "data.x")) != nil) == !`operator`.takesValue)
    }

    @Test("S5: a path begins with event, context or data, and any other first name is a member of the data")
    func paths() throws {
        func isEqual(_ path: EventPath, _ target: String) throws -> Bool {
            try holds(.equals(ignoreCase: false, variable: path, target: target))
        }
        #expect(try isEqual("event", "Order"))
        #expect(try isEqual("data.abc", "abc"))
        #expect(try isEqual("abc", "abc"))
        #expect(try !isEqual("context.abc", "abc"))
        #expect(Self.event.value(at: "context.uid") == .number(DataNumber(1000)))
        #expect(Self.event.value(at: "{1}.a") == .number(DataNumber(1)))
        #expect(Self.event.value(at: "[1].0") == .number(DataNumber(1)))
        #expect(Self.event.value(at: "[1].1") == nil)
        #expect(Self.event.value(at: "[1].00") == nil)
        #expect(Self.event.value(at: "abc.d") == nil)
        #expect(Self.event.value(at: "seq") == nil)
    }

    @Test("S5: ignoring case includes non-ASCII letters, and otherwise bytes are compared")
    func text() throws {
        let event = EventDocument(members: ["data": ["x": "ΟΔΟΣ Straße É"]])
        func contains(_ target: String, ignoreCase: Bool) throws -> Bool {
            try holds(.contains(ignoreCase: ignoreCase, variable: "x", target: target), for: event)
        }
        #expect(try contains("οδος strasse é", ignoreCase: true))
        #expect(try !contains("οδος", ignoreCase: false))
        #expect(try contains("É", ignoreCase: false))
        #expect(try !contains("E\u{301}", ignoreCase: false))
    }

    @Test("The factory functions create the conditions that they are named after")
    func makers() throws {
        let expected: [(Condition, Condition)] = try [
            (
                .equals(ignoreCase: true, variable: "a", target: "b"),
                Condition(.equals, path: "a", value: "b", ignoreCase: true)
            ),
            (
                .startsWith(ignoreCase: false, variable: "a", target: "b"),
                Condition(.startsWith, path: "a", value: "b")
            ),
            (.endsWith(ignoreCase: false, variable: "a", target: "b"), Condition(.endsWith, path: "a", value: "b")),
            (.contains(ignoreCase: false, variable: "a", target: "b"), Condition(.contains, path: "a", value: "b")),
            (
                .regularExpression(ignoreCase: false, variable: "a", target: "b"),
                Condition(.regularExpression, path: "a", value: "b")
            ),
        ]
        for (made, plain) in expected { #expect(made == plain) }
    }

    @Test("S5: a regular expression is compiled, and rejected, with the condition's case sensitivity")
    func patterns() throws {
        let condition = Condition.regularExpression(ignoreCase: true, variable: "abc", target: "B")
        #expect(condition.pattern == "B")
        #expect(try condition.compiledPattern(by: LiteralPatterns())?.isFound(in: "abc") == true)
        #expect(Condition.equals(ignoreCase: false, variable: "abc", target: "B").pattern == nil)
        let refused = Condition.regularExpression(ignoreCase: false, variable: "abc", target: "(")
        #expect(throws: PatternFault("missing )")) { try ReadyCondition(refused, patterns: LiteralPatterns()) }
    }
}
