/// A table of a page. On a narrow screen its cells are below each other, each with its column's name.
struct PageTable {
    /// The caption, for screen readers.
    let caption: String
    /// A column.
    struct Column {
        let name: String
        var isNumeric = false
    }
    let columns: [Column]
    private var rows: [HTML] = []

    init(_ caption: String, _ columns: [Column]) {
        self.caption = caption
        self.columns = columns
    }

    /// True if the table has no rows.
    var isEmpty: Bool { rows.isEmpty }

    /// Adds a row with as many cells as there are columns. The first cell is the row's heading.
    mutating func add(_ cells: [HTML]) {
        let row = zip(columns, cells).enumerated().map { index, pair -> HTML in
            let (column, cell) = pair
            // On a narrow screen an empty cell takes no room.
            let classes = (column.isNumeric ? ["number"] : []) + (cell == "–" ? ["none"] : [])
            let type: HTML = classes.isEmpty ? "" : " class=\"\(classes.joined(separator: " "))\""
            let tag: HTML = index == 0 ? "th scope=\"row\"" : "td"
            let end: HTML = index == 0 ? "th" : "td"
            return "<\(tag)\(type) data-name=\"\(column.name)\">\(cell)</\(end)>"
        }
        rows.append("<tr>\(row)</tr>\n")
    }

    /// Returns the table, or a text if it is empty.
    func html(orElse words: String) -> HTML {
        guard !isEmpty else { return "<p class=\"nothing\">\(words)</p>" }
        let heads = columns.map { column -> HTML in
            let type: HTML = column.isNumeric ? " class=\"number\"" : ""
            return "<th scope=\"col\"\(type)>\(column.name)</th>"
        }
        return """
            <div class="sheet"><table><caption class="unseen">\(caption)</caption>
            <thead><tr>\(heads)</tr></thead>
            <tbody>
            \(rows)</tbody></table></div>
            """
    }
}
