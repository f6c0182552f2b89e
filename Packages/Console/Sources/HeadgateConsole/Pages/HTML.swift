/// Text in which nothing but the program's own words is markup: what is put into it is escaped.
///
///     let row: HTML = "<td>\(event.name)</td>"
struct HTML: Equatable, Sendable, ExpressibleByStringInterpolation {
    private(set) var text = ""

    /// Nothing.
    init() {}

    init(stringLiteral value: String) {
        text = value
    }

    init(stringInterpolation interpolation: StringInterpolation) {
        text = interpolation.text
    }

    /// Puts a text together.
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + interpolationCount * 16)
        }

        mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        /// Anybody's words, escaped.
        mutating func appendInterpolation(_ words: String) {
            HTML.escape(words, into: &text)
        }

        /// A number.
        mutating func appendInterpolation(_ number: Int) {
            text += String(number)
        }

        /// Markup that was made in the same way.
        mutating func appendInterpolation(_ html: HTML) {
            text += html.text
        }

        /// Pieces, one behind the other.
        mutating func appendInterpolation(_ pieces: [HTML]) {
            for piece in pieces { text += piece.text }
        }
    }

    static func + (left: HTML, right: HTML) -> HTML {
        var sum = left
        sum.text += right.text
        return sum
    }

    static func += (left: inout HTML, right: HTML) {
        left.text += right.text
    }

    /// Characters that begin markup or end an attribute become references; those that a browser would not show, or that
    /// would turn the line around, become a mark.
    private static func escape(_ words: String, into text: inout String) {
        for scalar in words.unicodeScalars {
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&#39;"
            case "\t", "\n": text.unicodeScalars.append(scalar)
            case "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\0"..."\u{1F}", "\u{7F}"..."\u{9F}":
                text += "\u{FFFD}"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}
