import Testing

@testable import HeadgateCommands

@Suite struct TextWidthTests {
    @Test("A line that is too long is cut off, and says so; colours take no room and end")
    func cut() {
        #expect(TextWidth.cut("abcdef", to: 6) == "abcdef")
        #expect(TextWidth.cut("abcdef", to: 5) == "abcd…")
        #expect(TextWidth.cut("abcdef", to: 1) == "…")
        #expect(TextWidth.cut("abcdef", to: 0) == "")
        let style = Style(isColoured: true)
        let red = style.apply(.bad, to: "abcdef")
        #expect(TextWidth.cut(red, to: 6) == red)
        #expect(TextWidth.cut(red, to: 4) == style.apply(.bad, to: "abc") + "…")
    }

    @Test("Words are put in lines, and none is lost")
    func wrap() {
        #expect(TextWidth.wrap("one two three four", to: 9) == ["one two", "  three", "  four"])
        #expect(TextWidth.wrap("extraordinary word", to: 5) == ["extraordinary", "  word"])
        #expect(TextWidth.wrap("", to: 5) == [""])
    }
}
