import Testing

@testable import HeadgateCore

@Suite("Regular expressions")
struct PatternTests {
    @Test(
        "S5: a pattern is found where it should be, and nowhere else",
        arguments: [
            ("", ["", "x"], []),
            ("b", ["b", "abc"], ["", "B", "ac"]),
            ("^b", ["b", "bc"], ["ab"]),
            ("b$", ["b", "ab"], ["ba", "b\n"]),
            ("^$", [""], ["x"]),
            (#"\Aab\z"#, ["ab"], ["xab", "abx"]),
            ("a.c", ["abc", "xa cx", "aéc"], ["ac", "a\nc"]),
            ("cat|dog", ["a cat", "dogs"], ["cow"]),
            ("^(cat|dog|)s$", ["cats", "dogs", "s"], ["cat", "cows"]),
            ("^ab*c$", ["ac", "abc", "abbbc"], ["abb"]),
            ("^ab+c$", ["abc", "abbbc"], ["ac"]),
            ("^ab?c$", ["ac", "abc"], ["abbc"]),
            ("^a{2}$", ["aa"], ["a", "aaa"]),
            ("^a{2,}$", ["aa", "aaaaa"], ["a"]),
            ("^a{2,3}$", ["aa", "aaa"], ["a", "aaaa"]),
            ("^a{0}$", [""], ["a"]),
            ("^(ab){2}$", ["abab"], ["ab", "ababab"]),
            ("^a*?b+?c??$", ["b", "aabbc"], ["a"]),
            ("a{,2}", ["a{,2}"], ["aa"]),
            ("a{x", ["a{x"], ["a"]),
            ("}]", ["}]"], ["}"]),
            ("^[abc]+$", ["abcabc"], ["abd", ""]),
            ("^[^abc]+$", ["xyz", "\n"], ["xaz"]),
            ("^[a-c0-9_-]+$", ["b7-_"], ["d"]),
            ("^[]a]+$", ["]a]"], ["b"]),
            ("^[^]a]+$", ["b"], ["]", "a"]),
            (#"^[\d\-x]+$"#, ["4-x"], ["y"]),
            (#"^[\D]+$"#, ["ab"], ["a4"]),
            (#"^[^\D]+$"#, ["44"], ["a4"]),
            (#"^\d{3}-\d{4}$"#, ["555-0199"], ["555-019", "٣٣٣-٣٣٣٣"]),
            (#"^\w+\s\w+$"#, ["one two", "a_1\tb"], ["one", "one-two"]),
            (#"^\W\S\D$"#, ["-xx"], ["xxx", "- x", "-x5"]),
            (#"\bcat\b"#, ["cat", "a cat."], ["concat", "cats"]),
            (#"\Bcat"#, ["concat"], ["cat", "a cat"]),
            (#"^\x41\x{1F600}\u00e9\.\n\t$"#, ["A😀é.\n\t"], ["A"]),
            (#"^\/\*\\$"#, [#"/*\"#], ["/"]),
            ("(?i)straße", ["STRAßE", "Straße"], ["strasse"]),
            ("(?:a|b)+c", ["abac"], ["c"]),
            ("^(a*)*$", ["", "aaaa"], ["b"]),
            ("^(a|a?)+b$", ["aaab", "b"], ["a"]),
        ] as [(String, [String], [String])])
    func finds(pattern: String, inThese: [String], notInThese: [String]) throws {
        let pattern = try Pattern(pattern)
        for text in inThese { #expect(pattern.isFound(in: text) == true, "\(text)") }
        for text in notInThese { #expect(pattern.isFound(in: text) == false, "\(text)") }
    }

    @Test("S5: case is ignored in characters, ranges and their contraries")
    func ignoresCase() throws {
        for (text, isFound) in [("HeLLo", true), ("help", false)] {
            #expect(try Pattern("^[g-i]el+O$", ignoreCase: true).isFound(in: text) == isFound)
        }
        #expect(try Pattern("^[^a]$", ignoreCase: true).isFound(in: "A") == false)
        #expect(try Pattern("é", ignoreCase: true).isFound(in: "É") == true)
        #expect(try Pattern("é").isFound(in: "É") == false)
    }

    @Test(
        "S5: a pattern that makes no sense is refused",
        arguments: [
            "(", ")", "a)", "(a", "[", "[a", "[]", "[^]", "*", "+a", "a|*", "a**", "a{2}{3}", "a+*", #"\"#, #"\1"#,
            #"\p{L}"#, #"\q"#, "(?=a)", "(?<n>a)", "(?i:a)", "a(?i)", "[z-a]", #"[a-\d]"#, "[[:alpha:]]", #"[\b]"#,
            #"\x4"#, #"\xg0"#, #"\x{110000}"#, #"\ud800"#, #"\x{41"#, "a{3,2}", "a{1001}", "a{99999999999999999999}",
            "((a{1000}){1000}){1000}", "((){1000}){1000}",
            String(repeating: "(", count: 100) + String(repeating: ")", count: 100),
        ])
    func refuses(pattern: String) {
        #expect(throws: PatternFault.self) { try Pattern(pattern) }
    }

    @Test(
        "S5: no pattern and no text take more than a bounded time",
        arguments: ["^(a+)+$", "^(a|a)*$", "(a*)*b", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$", "a{500}a{500}$"])
    func isLinear(pattern: String) throws {
        let pattern = try Pattern(pattern)
        let text = String(repeating: "a", count: 3000) + "!"
        let clock = ContinuousClock()
        let time = clock.measure { #expect(pattern.isFound(in: text) != true) }
        // An engine that goes back would need longer than the universe has been there.
        #expect(time < .seconds(30))
    }

    @Test("S5: what would take too many steps cannot be evaluated, also negated")
    func bounded() throws {
        let text = String(repeating: "a", count: 1000)
        #expect(try Pattern("^a+$").isFound(in: text, mostSteps: 10_000) == true)
        #expect(try Pattern("^a+$").isFound(in: text, mostSteps: 1000) == nil)
        let event = EventDocument(members: ["data": ["x": .string(String(repeating: text, count: 20))]])
        #expect(try !Condition(.notRegularExpression, path: "x", value: "(a?){500}b").holds(for: event))
    }
}
