import Glibc
import HeadgateCore
import HeadgateData
import HeadgateSeeds
import Testing

@testable import HeadgateServer

@Suite("Regular expressions", .timeLimit(.minutes(5)))
struct RE2CompilerTests {
    private func compiled(_ pattern: String, ignoreCase: Bool = false) throws -> any PatternMatching {
        try RE2Compiler().compile(pattern, ignoreCase: ignoreCase)
    }

    @Test(
        "S5: a pattern may match anywhere in a text, and follows RE2's syntax",
        arguments: [
            ("", ["", "x"], []),
            ("b", ["b", "abc"], ["", "B", "ac"]),
            ("^b", ["b", "bc"], ["ab", "a\nb"]),
            ("b$", ["b", "ab"], ["ba", "b\n"]),
            ("^$", [""], ["x"]),
            (#"\Aab\z"#, ["ab"], ["xab", "abx"]),
            ("a.c", ["abc", "xa cx", "aéc", "a😀c"], ["ac", "a\nc"]),
            ("^.$", ["é", "😀", "漢"], ["", "éé"]),
            ("^(cat|dog|)s$", ["cats", "dogs", "s"], ["cat", "cows"]),
            ("^a{2,3}$", ["aa", "aaa"], ["a", "aaaa"]),
            ("^a*?b+?c??$", ["b", "aabbc"], ["a"]),
            ("a{,2}", ["a{,2}"], ["aa"]),
            ("^[a-c0-9_-]+$", ["b7-_"], ["d", ""]),
            ("^[^äö]+$", ["xyz", "\n", "Ä"], ["xäz"]),
            (#"^\d{3}-\d{4}$"#, ["555-0199"], ["555-019", "٣٣٣-٣٣٣٣"]),
            (#"^\p{L}+$"#, ["Straße", "οδος"], ["a1"]),
            (#"\bcat\b"#, ["cat", "a cat."], ["concat", "cats"]),
            (#"^\x41\x{1F600}\.\n\t$"#, ["A😀.\n\t"], ["A"]),
            ("a\0b", ["xa\0bx"], ["ab", "a"]),
            ("(?i)straße", ["STRAßE", "Straße"], ["strasse"]),
            ("^(a*)*$", ["", "aaaa"], ["b"]),
        ] as [(String, [String], [String])])
    func finds(pattern: String, inThese: [String], notInThese: [String]) throws {
        let pattern = try compiled(pattern)
        for text in inThese { #expect(pattern.isFound(in: text) == true, "\(text)") }
        for text in notInThese { #expect(pattern.isFound(in: text) == false, "\(text)") }
    }

    @Test("S5: characters, ranges and negated ranges can ignore case, also beyond ASCII")
    func ignoresCase() throws {
        #expect(try compiled("^[g-i]el+O$", ignoreCase: true).isFound(in: "HeLLo") == true)
        #expect(try compiled("^[g-i]el+O$", ignoreCase: true).isFound(in: "help") == false)
        #expect(try compiled("^[^a]$", ignoreCase: true).isFound(in: "A") == false)
        #expect(try compiled("é", ignoreCase: true).isFound(in: "É") == true)
        #expect(try compiled("é").isFound(in: "É") == false)
    }

    @Test(
        "S5: an invalid pattern is refused with a message",
        arguments: [
            ("(", "missing ): ("), ("a)", "unexpected ): a)"), ("[a", "missing ]: [a"), (#"\"#, #"trailing \"#),
            ("*", "no argument for repetition operator: *"), ("a**", "bad repetition operator: **"),
            (#"(a)\1"#, #"invalid escape sequence: \1"#), (#"\q"#, #"invalid escape sequence: \q"#),
            ("(?=a)", "invalid perl operator: (?="), ("[z-a]", "invalid character class range: z-a"),
            (#"\x{110000}"#, #"invalid escape sequence: \x{110000"#), ("a{1001}", "invalid repetition size: {1001}"),
            ("((a{1000}){1000}){1000}", "invalid repetition size: {1000}"),
            (#"\p{L}{1000}"#, "pattern too large - compile failed"), (#"\p{L}{60}"#, "pattern too large"),
        ])
    func refuses(pattern: String, message: String) {
        #expect(throws: PatternFault(message)) { try compiled(pattern) }
    }

    @Test("S5: a pattern with 100 000 nested brackets is compiled, and matches")
    func deep() throws {
        for count in [100, 100_000] {
            let pattern = String(repeating: "(", count: count) + "a" + String(repeating: ")", count: count)
            #expect(try compiled(pattern).isFound(in: "cab") == true)
        }
    }

    /// A million random letters `a` and `b`.
    private static let mixed: String = {
        var random = SeededRandom(seed: Seed(1))
        let bits = (0..<1_000_000 / 64).map { _ in random.next() }
        let characters = bits.flatMap { bits in (0..<64).map { UInt8(ascii: "a") + UInt8(bits >> $0 & 1) } }
        return String(decoding: characters, as: UTF8.self)
    }()

    /// Returns the processor time of this thread, which does not depend on the machine's other work.
    private static func processorTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    @Test(
        "S5: matching takes a bounded time, whatever the pattern and the text",
        arguments: [
            "(a+)+$", "^(a+)+$", "^(a|a)*$", "(a*)*c", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$", "a{500}a{500}$",
            "(?:a?){1000}c", "(a|b)*a(a|b){500}c", "((.)*a(.){900}c)", "((a{0,30}){0,30})c",
        ])
    func isBounded(pattern: String) throws {
        let pattern = try compiled(pattern)
        for length in [1000, 10_000, 100_000, 1_000_000] {
            let same = String(repeating: "a", count: length) + "!"
            let mixed = Self.mixed.prefix(length) + "!"
            let start = Self.processorTime()
            #expect(pattern.isFound(in: same) != true)
            #expect(pattern.isFound(in: String(mixed)) != true)
            let time = Self.processorTime() - start
            // A backtracking engine would need longer than the age of the universe, and RE2 without a bound would need
            // minutes.
            #expect(time < .seconds(10), "\(length)")
        }
    }

    @Test("S5: a match that would take too long is abandoned, and usual patterns work on the longest text")
    func failed() throws {
        let text = String(repeating: "a", count: 1_000_000) + "5"
        #expect(try compiled("(a|b)*a(a|b){500}c").isFound(in: text) == nil)
        #expect(try compiled(#"^[a-z]+\d$"#).isFound(in: text) == true)
        #expect(try compiled(#"^shop/\d+\.\d+$"#).isFound(in: text) == false)
    }

    @Test("S2: the regular expressions of all rules are checked, and invalid ones are reported with their paths")
    func settings() throws {
        let reading = try SettingsReading.of(
            #"""
            {"dispatchers": {"d": {"kind": "file", "path": "f",
               "load_rule": {"not": {"operator": "regular_expression", "path": "event", "value": "["}}}},
             "transformations": [{"id": "t", "scopes": [], "remove": ["x"],
               "when": {"and": [{"operator": "not_regular_expression", "path": "event", "value": "a**"}]}}]}
            """#)
        #expect(reading.settings == nil)
        #expect(
            reading.findings.lines == [
                "dispatchers.d.load_rule.not.value: cannot be used as a regular expression: missing ]: [",
                "transformations[0].when.and[0].value: cannot be used as a regular expression: bad repetition operator: **",
            ])
    }

    @Test("S5: a program's rules may have regular expressions, and invalid ones are refused")
    func programs() async throws {
        try await ServiceStage.run([
            "dispatchers": ["collect": ["load_rule": "wanted"]], "load_rules": ["wanted": ["or": []]],
        ]) { stage in
            try await stage.inspect { service in
                try service.gate.loadRules.set(
                    .just(.regularExpression(ignoreCase: true, variable: "event", target: "^ORDER_[0-9]+$")),
                    forId: "wanted")
                #expect(throws: RuleFault.pattern(PatternFault("missing ): ("))) {
                    try service.gate.loadRules.set(
                        .just(.regularExpression(ignoreCase: false, variable: "event", target: "(")), forId: "wanted")
                }
            }
            let client = try await stage.client()
            for name in ["order_12", "order_", "my order_12"] as [DataItem] {
                try await client.call("track", ["event": name])
            }
            #expect(try await stage.events(of: "collect", after: client).map { $0["event"] } == ["order_12"])
        }
    }
}
