import HeadgateClient
import HeadgateData
import HeadgateText

/// The forms of quantities and states on pages.
enum Formatting {
    /// Returns a time span: `0.8 ms`, `12 ms`, `1.2 s`, `3 min`.
    static func seconds(_ seconds: Double) -> String {
        switch seconds {
        case ..<0.000_95: return "\(Quantity.rate(max(0, seconds * 1e6).rounded())) µs"
        case ..<0.95: return "\(Quantity.rate(seconds * 1_000)) ms"
        case ..<100: return "\(Quantity.rate(seconds)) s"
        default: return Quantity.time(.seconds(seconds))
        }
    }

    /// Returns an age, or a dash for nil.
    static func age(_ duration: Duration?) -> String {
        duration.map(Quantity.time) ?? "–"
    }

    /// Returns a local time, with the exact time as an attribute.
    static func moment(_ moment: Timestamp?, _ clock: WallClock) -> HTML {
        guard let moment else { return "–" }
        return "<time datetime=\"\(moment.text)\">\(clock.text(moment))</time>"
    }

    /// Returns a barrier's state, marked by more than a colour.
    static func state(_ state: ListedBarrier.State) -> HTML {
        badge(state.rawValue, state == .open ? .good : state == .closed ? .held : .waiting)
    }

    /// Returns a dispatcher's state.
    static func state(_ dispatcher: ListedDispatcher) -> HTML {
        dispatcher.isOpen ? badge("open", .good) : badge("blocked", .held)
    }

    /// The meaning of a mark.
    enum Tone: String {
        case good, held, waiting, bad
    }

    /// Returns a word with a mark, whose shape depends on its meaning.
    static func badge(_ word: String, _ tone: Tone) -> HTML {
        "<span class=\"badge \(tone.rawValue)\">\(word)</span>"
    }

    /// Returns a figure with its name.
    static func figure(_ name: String, _ value: HTML, _ note: HTML = "") -> HTML {
        let note: HTML = note.text.isEmpty ? "" : " <span class=\"note\">\(note)</span>"
        return "<div><dt>\(name)</dt><dd>\(value)\(note)</dd></div>"
    }

    /// Returns the text with a capital letter at its start and a full stop at its end.
    static func sentence(_ words: String) -> String {
        words.prefix(1).uppercased() + words.dropFirst() + "."
    }

    /// Returns a text in which words between backticks are code.
    static func prose(_ text: String) -> HTML {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
        let pieces = parts.enumerated().map { index, part -> HTML in
            index % 2 == 1 ? "<code>\(part)</code>" : "\(part)"
        }
        return "\(pieces)"
    }

    /// Returns a number with its digits in groups, without line breaks.
    static func count(_ number: Int) -> HTML {
        "\(Quantity.grouped(number).map { $0 == " " ? "\u{202F}" : String($0) }.joined())"
    }

    /// Returns a rate per second, without line breaks.
    static func rate(_ perSecond: Double) -> HTML {
        "\(Quantity.rate(perSecond).map { $0 == " " ? "\u{202F}" : String($0) }.joined())"
    }
}

/// The form of settings on pages.
enum SettingsText {
    /// Returns an object as lines of a path and a value: `backoff.base_ms`, `500`.
    static func lines(_ object: DataObject, below path: String = "") -> [(path: String, value: String)] {
        object.flatMap { name, value -> [(path: String, value: String)] in
            let keyPath = path.isEmpty ? name : "\(path).\(name)"
            if case .object(let inner) = value, !inner.isEmpty { return lines(inner, below: keyPath) }
            if case .string(let text) = value { return [(keyPath, text)] }
            return [(keyPath, value.json)]
        }
    }
}
