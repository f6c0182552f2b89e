/// A plot of the last 15 minutes, drawn by the server without scripts in the browser.
struct Plot {
    /// One line of the plot.
    struct Line {
        let name: String
        /// The present value as text.
        let now: String
        /// The values, oldest first. A value is nil if it is not known.
        let values: [Double?]
    }

    let title: String
    let lines: [Line]
    /// Returns a value as text.
    let words: (Double) -> String
    /// The text of a plot without values.
    var nothing = "No data yet: the console measures only while one of its pages is open."

    private static let height = 100.0

    /// The plot with its legend.
    var html: HTML {
        let keys = lines.enumerated().map { index, line -> HTML in
            """
            <span class="entry"><svg class="key" width="22" height="6" aria-hidden="true">\
            <path class="line k\(index)" d="M0 3H22"/></svg> \(line.name) <b>\(line.now)</b></span>

            """
        }
        return """
            <figure class="plot"><figcaption><span class="title">\(title)</span> \(keys)</figcaption>
            <div class="paper"><span class="top">\(top > 0 ? words(top) : "")</span>\(picture)</div>
            <p class="axis"><span>15 min ago</span><span>now</span></p></figure>

            """
    }

    private var picture: HTML {
        let isKnown = lines.contains { $0.values.contains { $0 != nil } }
        guard isKnown else { return "<p class=\"nothing\">\(nothing)</p>" }
        let paths = lines.enumerated().map { index, line -> HTML in
            "<path class=\"line k\(index)\" d=\"\(Self.path(line.values, top: top))\"/>"
        }
        let width = max(1, (lines.first?.values.count ?? 1) - 1)
        return """
            <svg viewBox="0 -2 \(width) 104" preserveAspectRatio="none" role="img" aria-label="\(description)">\
            <path class="grid" d="M0 0H\(width)M0 50H\(width)M0 100H\(width)"/>\(paths)</svg>
            """
    }

    /// A text for screen readers.
    private var description: String {
        let parts = lines.map { line in
            let largest = line.values.compactMap(\.self).max() ?? 0
            return "\(line.name) now \(line.now), at most \(words(largest))"
        }
        return "\(title), last 15 minutes: \(parts.joined(separator: "; "))"
    }

    /// A round number that no value exceeds.
    var top: Double {
        let largest = lines.flatMap(\.values).compactMap(\.self).max() ?? 0
        return Self.round(above: largest)
    }

    /// Returns the smallest of 1, 2 and 5 times a power of ten that is not below a value. Returns 0 for 0.
    static func round(above value: Double) -> Double {
        guard value > 0, value.isFinite else { return 0 }
        var power = 1.0
        while power < value { power *= 10 }
        while power / 10 >= value { power /= 10 }
        return [0.1, 0.2, 0.5, 1].map { $0 * power }.first { $0 >= value } ?? power
    }

    /// Returns the path of a line, with gaps at unknown values. A single value becomes a short stroke.
    static func path(_ values: [Double?], top: Double) -> String {
        var path = ""
        var isDown = false
        for (x, value) in values.enumerated() {
            guard let value else {
                isDown = false
                continue
            }
            let share = top > 0 ? min(1, max(0, value / top)) : 0
            let tenths = Int(((1 - share) * height * 10).rounded())
            let y = tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
            path += isDown ? "L\(x) \(y)" : "M\(x) \(y)h.5"
            isDown = true
        }
        return path
    }
}
