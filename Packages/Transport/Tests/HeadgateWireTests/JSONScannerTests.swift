import HeadgateData
import Testing

@testable import HeadgateWire

@Suite("Acceptance of JSON")
struct JSONScannerTests {
    static let valid: [String] = [
        "null", "true", "false", " true\t", "\r\n[ ]\n", "{}", "{ }", "[[]]", "[{}]", #"{"":""}"#,
        "0", "-0", "0.0", "-0.5", "1e5", "1E+5", "1e-5", "0e0", "10", "123456789", "1.5e300",
        "1e999", "-1E-999", String(repeating: "9", count: 40), "18446744073709551616",
        "0." + String(repeating: "1", count: 60),
        #""""#, #""a""#, #""\"\\\/\b\f\n\r\t""#, #""\u0041\uD83D\uDE00""#, #""\ud800""#, #""\uDC00\ud800x""#,
        "\"\u{7f}\"",
        "\"é😀\u{2028}\"", #""\\""#, #""\\\"""#, #"["a","b"]"#, #"[1,2.5,"x",null,true,{"k":[]}]"#,
        #"{"a":1,"a":2}"#, #"{"\u0061":1}"#, #"[""]"#, #"{"a":{"b":{"c":[1,2,{"d":null}]}}}"#, "[1 , 2\n,3 ]",
    ]

    static let invalid: [String] = [
        "", " ", "\n\t ", "nul", "nulll", "truee", "tru", "True", "fals", "falsey", "undefined", "NaN", "-NaN",
        "Infinity", "-Infinity",
        "01", "-01", "00", "+1", ".5", "-.5", "1.", "1.e5", "1e", "1e+", "1e-", "1.5e", "-", "--1", "1-", "0x10",
        "1_000", "1a", "1x", "1e5.5", "1..2",
        "1\u{0c}", "1\u{1a}2", "\u{0c}1", "1 2", "1,2", "[1 2]", "[1,]", "[,1]", "[,]", "[1,,2]", "[", "]", "[1", "1]",
        "[1}", "{1]",
        "{", "}", #"{"a"}"#, #"{"a" 1}"#, #"{"a":}"#, #"{"a":1,}"#, #"{,"a":1}"#, #"{a:1}"#, #"{'a':1}"#, #"{1:1}"#,
        #"{"a":1 "b":2}"#, #"{"a":1"#,
        #"{"a""#, #"{"a":"#, #"{"a"::1}"#, #"{"a":1:2}"#, #"{"a",1}"#, #"{:1}"#, #"{null:1}"#, #"{"a":1}}"#,
        #"{"a":1}x"#, #"{}{}"#, "[][]",
        "\"", "\"a", "a\"", #""a"b"#, #""a""b""#, #""a" "b""#, #""a"1"#, #"1"a""#, #""\x""#, #""\u12""#, #""\u12g4""#,
        #""\U0041""#, #""\u""#, #""\""#, #""\ ""#,
        "\"\n\"", "\"\t\"", "\"\u{00}\"", "\"\u{1f}\"", "\u{00}", "null\u{00}", "'a'", "\"a\\\n\"", #"\"a""#,
        #"[1\"a" , "]"#, #""a"\"#, #"["a"\"b"]"#,
        "\u{feff}{}", "\u{feff}", "{}\u{feff}", "// c\n1", "/* c */1", "1 // c", "\u{a0}1", "\u{2028}1", "[1;2]", "(1)",
        ":", ",", "::",
        #"["a":1]"#, #"[1:2]"#, #"{"a":[}"#, #"{"a":{]}"#, "[[[]]", "[]]", #""\ud83d\u""#, "\u{1a}", "[\u{1a}]",
        "{\"a\"\u{1a}1}",
    ]

    static let notUTF8: [[UInt8]] = [
        [0x22, 0xFF, 0x22], [0x22, 0x80, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xC0, 0xAF, 0x22],
        [0x22, 0xE0, 0x80, 0xAF, 0x22],
        [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xF0, 0x80, 0x80, 0xAF, 0x22],
        [0x22, 0xF0, 0x9F, 0x98, 0x22], [0xFF], [0xFE, 0xFF], [0x7B, 0x7D, 0xC3],
    ]

    @Test("Protocol, Framing: valid JSON is accepted", arguments: valid)
    func accepts(text: String) throws {
        let raw = try GuardedText(text).scan { String(decoding: $0.raw, as: UTF8.self) }
        #expect(raw == trimmed(text))
    }

    @Test("Protocol, Framing: invalid JSON is refused", arguments: invalid)
    func refuses(text: String) {
        #expect(throws: JSONFault.notJSON) { try GuardedText(text).check() }
    }

    @Test("Protocol, Framing: a long number contains only digits, not their neighbours in ASCII")
    func refusesNeighboursOfDigits() throws {
        for length in 1...20 {
            try GuardedText(String(repeating: "9", count: length)).check()
            for position in 0..<length {
                for byte: UInt8 in [0x10, 0x23, 0x2A, 0x2F, 0x3B, 0x3C, 0x3F, 0x40, 0x70, 0x7E] {
                    var digits = [UInt8](repeating: 0x31, count: length)
                    digits[position] = byte
                    #expect(throws: JSONFault.notJSON) { try GuardedText(digits).check() }
                }
            }
        }
    }

    @Test("Protocol, Framing: invalid UTF-8 is refused", arguments: notUTF8)
    func refusesOtherEncodings(bytes: [UInt8]) {
        #expect(throws: JSONFault.notUTF8) { try GuardedText(bytes).check() }
    }

    @Test("X3: a prefix of a message is not accepted", arguments: [#"{"a":[1,"x\u0041",{"b":null}],"c":-1.5e7}"#])
    func refusesPrefixes(text: String) {
        let scanner = JSONScanner()
        for length in 0..<text.utf8.count {
            #expect(throws: JSONFault.notJSON) { try GuardedText(text.utf8.prefix(length)).check(scanner) }
        }
    }

    @Test(
        "X3: memory after a text is not read as part of it",
        arguments: [("1", "2"), ("true", "e"), ("1.", "5"), ("\"a", "\"")])
    func keepsToTheText(text: String, behind: String) throws {
        let whole = Array((text + behind).utf8)
        let alone = Result { try DataItem(parsing: Array(text.utf8)) }
        let cut = Result {
            try whole.withUnsafeBytes { try DataItem(parsing: .init(rebasing: $0[..<text.utf8.count])) }
        }
        #expect((try? alone.get()) == (try? cut.get()))
    }

    @Test("X2: exactly the allowed depth is accepted", arguments: [1, 2, 64, 1024])
    func limitsDepth(depth: Int) throws {
        let scanner = JSONScanner(maxDepth: depth)
        for (opening, closing) in [("[", "]"), (#"{"a":"#, "}")] {
            let core = opening == "[" ? "" : "1"
            func nested(_ levels: Int) -> GuardedText {
                GuardedText(
                    String(repeating: opening, count: levels) + core + String(repeating: closing, count: levels))
            }
            #expect(throws: Never.self) { try nested(depth).check(scanner) }
            #expect(throws: JSONFault.tooDeep) { try nested(depth + 1).check(scanner) }
        }
    }

    @Test("X2: extreme depth is refused cheaply")
    func refusesAbyss() {
        let abyss = GuardedText(String(repeating: "[", count: 2_000_000))
        #expect(throws: JSONFault.tooDeep) { try abyss.check(JSONScanner(maxDepth: .max)) }
    }

    @Test("A scanner is reused for texts of any size, valid and invalid")
    func isReusable() throws {
        let scanner = JSONScanner()
        for count in [1, 5_000, 3, 40_000, 2] {
            let text = GuardedText("[" + Array(repeating: "1", count: count).joined(separator: ",") + "]")
            #expect(try text.scan(scanner) { $0.count } == count)
            #expect(throws: JSONFault.notJSON) { try GuardedText("[1,").check(scanner) }
        }
    }

    @Test("P6: numbers and strings keep their bytes")
    func keepsSource() throws {
        let text = #"{"n":1.50000000000000000000000000000000001e+05,"s":"\u00e9\/","z":-0.0}"#
        let raws = try GuardedText(text).scan { view in
            try #require(view.members).map { String(decoding: $0.value.raw, as: UTF8.self) }
        }
        #expect(raws == ["1.50000000000000000000000000000000001e+05", #""\u00e9\/""#, "-0.0"])
    }

    private func trimmed(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let isSpace: (UInt8) -> Bool = { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return String(decoding: bytes.drop(while: isSpace).reversed().drop(while: isSpace).reversed(), as: UTF8.self)
    }
}
