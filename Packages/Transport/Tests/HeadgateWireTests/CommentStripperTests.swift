import HeadgateSeeds
import HeadgateWire
import Testing

@Suite("Comments in configurations")
struct CommentStripperTests {
    @Test(
        "Comments become spaces, and nothing else changes",
        arguments: [
            ("{}", "{}"),
            ("{} // end", "{}       "),
            ("// one\r\n{}", "      \r\n{}"),
            ("/* a\nb */{}", "    \n    {}"),
            ("/**/{}/***/", "    {}     "),
            ("/*/ */1", "      1"),
            ("/* // */1", "        1"),
            ("// /* \n1", "      \n1"),
            (#"{"a": "// no /* no */"}"#, #"{"a": "// no /* no */"}"#),
            (#"{"a": "\"// no"} // yes"#, #"{"a": "\"// no"}       "#),
            (#"{"a\\": 1} // yes"#, #"{"a\\": 1}       "#),
            ("\u{FEFF}{}", "   {}"),
            ("/* ü */1", "        1"),
            ("1 / 2", "1 / 2"),
            ("1 /* never", "1 /* never"),
            ("/*/", "/*/"),
            ("/", "/"),
            (#""\"#, #""\"#),
            ("", ""),
        ])
    func strip(text: String, expected: String) {
        #expect(CommentStripper.strip(Array(text.utf8)) == Array(expected.utf8))
    }

    @Test("The length stays, whatever the text", arguments: Seeds.first(1))
    func length(seed: Seed) {
        var random = SeededRandom(seed: seed)
        let bytes = Array("/*\"\\\n a".utf8)
        for _ in 0..<2000 {
            let text = (0..<12).map { _ in bytes[Int(random.next(upperBound: UInt(bytes.count)))] }
            #expect(CommentStripper.strip(text).count == text.count, "\(text)")
        }
    }
}
