import HeadgateData
import Testing

@testable import HeadgateCommands

/// The short form of rules on the command line.
@Suite struct RuleTextTests {
    @Test(
        "A rule in its short form is the same rule in JSON",
        arguments: [
            (#"data.user.id = "4711""#, #"{"operator":"equals","path":"data.user.id","value":"4711"}"#),
            ("n=5", #"{"operator":"equals","path":"n","value":5}"#),
            ("plan != free", #"{"operator":"not_equals","path":"plan","value":"free"}"#),
            ("n >= 1.5", #"{"operator":"greater_than_or_equals","path":"n","value":1.5}"#),
            ("done = true", #"{"operator":"equals","path":"done","value":true}"#),
            ("gone = null", #"{"operator":"equals","path":"gone","value":null}"#),
            (
                #"event i~ "^debug""#,
                #"{"operator":"regular_expression","path":"event","value":"^debug","ignore_case":true}"#
            ),
            ("event starts_with order", #"{"operator":"starts_with","path":"event","value":"order"}"#),
            ("data.user is defined", #"{"operator":"is_defined","path":"data.user"}"#),
            ("data.user is not empty", #"{"operator":"is_not_empty","path":"data.user"}"#),
            (
                "a = 1 and b = 2 or not c = 3",
                #"{"or":[{"and":[{"operator":"equals","path":"a","value":1},{"operator":"equals","path":"b","value":2}]},"#
                    + #"{"not":{"operator":"equals","path":"c","value":3}}]}"#
            ),
            (
                "(a = 1 or b = 2) and c = 3",
                #"{"and":[{"or":[{"operator":"equals","path":"a","value":1},{"operator":"equals","path":"b","value":2}]},"#
                    + #"{"operator":"equals","path":"c","value":3}]}"#
            ),
            ("not_debug", #""not_debug""#), (#"{"not": "debug"}"#, #"{"not":"debug"}"#),
            (#"text = "a \" b""#, #"{"operator":"equals","path":"text","value":"a \" b"}"#),
        ])
    func sound(text: String, json: String) throws {
        #expect(try RuleText.parse(text).json == json)
    }

    @Test(
        "The error of an invalid rule has the fault and its position",
        arguments: [
            ("", 0, "empty"), ("a =", 3, "value"), ("a 5", 2, "operator"), ("(a = 1", 6, "`)`"), ("a = 1 b", 6, "`b`"),
            (#"a = "x"#, 4, "no end"), ("a = 1 and", 9, "path"), ("a is 5", 5, "`defined`"), ("{", 0, "JSON"),
            ("a = )", 4, "value"), ("a == 1", 2, "use `=`"), ("a = 'x'", 4, "double quotes"),
            ("a = 1 && b = 2", 6, "use `and`"), ("a = 1 || b = 2", 6, "use `or`"),
        ])
    func unsound(text: String, offset: Int, word: String) {
        do throws(RuleText.Fault) {
            let rule = try RuleText.parse(text)
            Issue.record("\(rule.json)")
        } catch {
            #expect(error.offset == offset && error.description.contains(word), "\(error)")
        }
    }

    @Test("Deep nesting is refused")
    func deep() {
        for open in ["(", "not "] {
            let text = String(repeating: open, count: 10_000) + "a = 1"
            #expect(throws: RuleText.Fault.self) { try RuleText.parse(text) }
        }
    }
}
