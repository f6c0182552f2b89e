/// HTML text in which only the program's own literals are markup. Interpolated text is escaped.
///
///     let row: HTML = "<td>\(event.name)</td>"
struct HTML: Equatable, Sendable, ExpressibleByStringInterpolation {
    private(set) var text = ""

    /// Makes an empty text.
    init() {}

    init(stringLiteral value: String) {
        text = value
    }

    init(stringInterpolation interpolation: StringInterpolation) {
        text = interpolation.text
    }

    /// The collected parts of a literal.
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + interpolationCount * 16)
        }

        mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        /// Adds text, escaped.
        mutating func appendInterpolation(_ words: String) {
            HTML.escape(words, into: &text)
        }

        /// Adds a number.
        mutating func appendInterpolation(_ number: Int) {
            text += String(number)
        }

        /// Adds HTML as it is.
        mutating func appendInterpolation(_ html: HTML) {
            text += html.text
        }

        /// Adds several pieces of HTML as they are.
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

    /// Escapes a text. Characters that begin markup or end an attribute become references. Control characters, and
    /// characters that reverse the text's direction, become U+FFFD.
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
