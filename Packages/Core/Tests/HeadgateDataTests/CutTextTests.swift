import HeadgateData
import Testing

@Suite("Cutting foreign text")
struct CutTextTests {
    @Test(
        "D10: text is cut by bytes of UTF-8, at a whole code point",
        arguments: [
            ("", 3, ""), ("abc", 3, "abc"), ("abcd", 3, "abc"), ("aé", 2, "a"), ("aé", 3, "aé"), ("😀x", 3, ""),
            ("😀x", 4, "😀"), ("abc", 0, ""),
        ])
    func cut(text: String, most: Int, left: String) {
        #expect(text.cut(toBytes: most) == left)
    }

    @Test("D10: a character with a million accents is cut like any other text")
    func accents() {
        let text = "e" + String(repeating: "\u{301}", count: 1_000_000)
        #expect(text.cut(toBytes: 256).utf8.count == 255)
    }
}
