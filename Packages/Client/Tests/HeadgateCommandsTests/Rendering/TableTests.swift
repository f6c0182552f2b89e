import HeadgateData
import Synchronization
import Testing

@testable import HeadgateCommands

@Suite struct TableTests {
    private var table: Table {
        var table = Table([.init("NAME"), .init("COUNT", isNumeric: true), .init("REST")])
        table.add([.init("a", .good), .init(12), .init("")])
        table.add([.init("longer"), .init(0), .init("x\u{1B}[2J")])
        return table
    }

    @Test("Columns are aligned, lines have no blanks at their end, and nothing from outside steers the terminal")
    func plain() {
        #expect(
            table.text(Style(isColoured: false)) == """
                NAME    COUNT  REST
                a          12
                longer      0  x\\u{1b}[2J

                """)
    }

    @Test("Colours do not move the columns")
    func coloured() {
        let line = table.text(Style(isColoured: true)).split(separator: "\n")[1]
        #expect(line == "\u{1B}[32ma\u{1B}[0m          12")
    }

    @Test("Wide characters do not move the columns either")
    func wide() {
        var table = Table([.init("NAME"), .init("REST")])
        table.add([.init("中文字"), .init("x")])
        #expect(table.text(Style(isColoured: false)) == "NAME    REST\n中文字  x\n")
    }
}

@Suite struct PlainTextTests {
    @Test(
        "Characters that control a terminal, reverse text, break a line or hide are shown by number; all others as they are",
        arguments: [
            ("a\u{1B}[2J", #"a\u{1b}[2J"#), ("a\u{9B}2J", #"a\u{9b}2J"#), ("a\u{202E}b", #"a\u{202e}b"#),
            ("a\u{2066}b", #"a\u{2066}b"#), ("a\u{2028}b\u{2029}", #"a\u{2028}b\u{2029}"#), ("\u{200B}", #"\u{200b}"#),
            ("\u{FEFF}a", #"\u{feff}a"#), ("\u{E0041}", #"\u{e0041}"#), ("\u{7F}", #"\u{7f}"#),
            ("a\r\nb", #"a\u{d}\u{a}b"#),
            ("é e\u{301} 中文 🙂 👩‍👩‍👧 می‌خواهم", "é e\u{301} 中文 🙂 👩‍👩‍👧 می‌خواهم"),
        ])
    func line(text: String, shown: String) {
        #expect(PlainText.line(text) == shown)
    }

    @Test("JSON output is escaped by JSON's rules, so that the text stays the same")
    func json() throws {
        let item: DataItem = ["a\u{9B}": "b\u{202E}\u{E0041}\u{7F}\n é"]
        let text = PlainText.json(item.json + "\n")
        #expect(text == #"{"a\u009b":"b\u202e\udb40\udc41\u007f\n é"}"# + "\n")
        #expect(try DataItem(parsing: Array(text.utf8)) == item)
    }

    @Test("JSON is escaped on a terminal alone: programs get it as it is")
    func terminals() throws {
        for showsOutput in [true, false] {
            let written = Mutex("")
            let terminal = Terminal(
                input: 0, showsProgress: false, style: Fixed.style, showsOutput: showsOutput,
                output: { bytes in written.withLock { $0 += String(decoding: bytes, as: UTF8.self) } }, errors: { _ in }
            )
            try terminal.write(json: "\"\u{9B}\"\n")
            #expect(written.withLock { $0 } == (showsOutput ? #""\u009b""# + "\n" : "\"\u{9B}\"\n"))
        }
    }
}

@Suite struct TextWidthTests {
    @Test("A line that is too long is cut, with a mark; colours take no columns and end")
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

    @Test(
        "Characters count as many columns as a terminal gives them, whatever the user's locale",
        arguments: [("é", 1), ("e\u{301}", 1), ("中文", 4), ("가", 2), ("🙂", 2), ("👩‍👩‍👧", 2), ("→…●", 3), ("", 0)])
    func columns(text: String, columns: Int) {
        #expect(TextWidth.columns(text) == columns)
    }

    @Test("A wide character that fits only in half is cut off whole")
    func cutWide() {
        #expect(TextWidth.cut("中文字", to: 6) == "中文字")
        #expect(TextWidth.cut("中文字", to: 5) == "中文…")
        #expect(TextWidth.cut("中文字", to: 4) == "中…")
    }
}
