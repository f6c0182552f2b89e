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
