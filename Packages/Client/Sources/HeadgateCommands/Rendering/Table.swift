import HeadgateData

/// A table with aligned columns.
struct Table {
    /// A cell of a row.
    struct Cell {
        let text: String
        var tone = Style.Tone.plain

        init(_ text: String, _ tone: Style.Tone = .plain) {
            self.text = PlainText.line(text)
            self.tone = tone
        }

        /// Makes a cell of a number. A zero is faint.
        init(_ number: Int, _ tone: Style.Tone = .plain) {
            self.init(String(number), number == 0 ? .faint : tone)
        }
    }

    /// A column with its heading.
    struct Column {
        let title: String
        var isNumeric = false

        init(_ title: String, isNumeric: Bool = false) {
            self.title = title
            self.isNumeric = isNumeric
        }
    }

    let columns: [Column]
    private(set) var rows: [[Cell]] = []

    init(_ columns: [Column]) {
        self.columns = columns
    }

    mutating func add(_ row: [Cell]) {
        rows.append(row)
    }

    /// Returns the lines as text, each with a line end.
    func text(_ style: Style) -> String {
        lines(style).map { $0 + "\n" }.joined()
    }

    /// Returns the lines, the headings first.
    func lines(_ style: Style) -> [String] {
        let heading = columns.map { Cell($0.title, .faint) }
        let widths = self.widths
        return ([heading] + rows).map { line($0, widths, style) }
    }

    private func line(_ row: [Cell], _ widths: [Int], _ style: Style) -> String {
        var line = ""
        for (index, cell) in row.enumerated() {
            let padding = String(repeating: " ", count: widths[index] - TextWidth.columns(cell.text))
            let text = style.apply(cell.tone, to: cell.text)
            let isLast = index == row.count - 1
            if columns[index].isNumeric {
                line += padding + text
            } else {
                line += isLast ? text : text + padding
            }
            if !isLast { line += "  " }
        }
        while line.last == " " { line.removeLast() }
        return line
    }

    private var widths: [Int] {
        columns.indices.map { index in
            ([columns[index].title] + rows.map { $0[index].text }).map(TextWidth.columns).max() ?? 0
        }
    }
}
