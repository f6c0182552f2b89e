import HeadgateData
import HeadgateSeeds
import HeadgateWire
import Testing

@Suite("Positions of JSON errors")
struct JSONSyntaxErrorTests {
    @Test(
        "The first error is reported, whatever follows it",
        arguments: [
            (#"{"a": b", "c": 1}"#, 6, "expected a value"), (#"{"a" "b"#, 5, "expected `:`"),
            (#"["\x" 1"#, 3, "unknown escape in a string"), (#"[1 "\x"]"#, 3, "expected `,` or `]`"),
            ("[tru", 1, "expected a value"), ("[1,\n\"a\n", 6, "a string must end"), ("[\\\"a]", 1, "expected a value"),
            ("[1.5x]", 4, "expected `,` or `]`"), ("1x", 1, "unexpected text after the value"),
            ("   ", 3, "the text ends"),
            ("[}", 1, "expected a value"), ("{]", 1, "expected a name"), ("[\"\\u00", 6, "a string has no"),
        ])
    func positions(text: String, offset: Int, message: String) {
        let problem = JSONSyntaxError(about: Array(text.utf8))
        #expect(problem.offset == offset)
        #expect(problem.message.hasPrefix(message), "\(problem.message)")
    }

    @Test("In random texts the part before the error could be the beginning of JSON", arguments: Seeds.first(5))
    func beginnings(seed: Seed) {
        var random = SeededRandom(seed: seed)
        let sound = Array(#"{"a": [1, -2.5e+3, true, null, "x\u00e9\n"], "b": {"c": false}}"#.utf8)
        let spare = Array("{}[]:,\"\\0e-.tnu x\n".utf8)
        for _ in 0..<1000 {
            var text = sound
            for _ in 0...random.next(upperBound: UInt(3)) {
                text[Int(random.next(upperBound: UInt(text.count)))] = spare.randomElement(using: &random) ?? 0
            }
            guard (try? DataItem(parsing: text)) == nil else { continue }
            let problem = JSONSyntaxError(about: text)
            let before = Array(text.prefix(problem.offset))
            // The text before the error must be valid JSON, or invalid only because it ends too early.
            let isFine =
                (try? DataItem(parsing: before)) != nil || JSONSyntaxError(about: before).offset == before.count
            #expect(isFine, "\(problem) in \(String(decoding: text, as: UTF8.self))")
        }
    }

    @Test("A million brackets are reported like any other error")
    func brackets() {
        let text = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
        #expect(JSONSyntaxError(about: text).offset == 1_000_000)
        #expect(JSONSyntaxError(about: []).message == "the text ends too early")
    }
}
