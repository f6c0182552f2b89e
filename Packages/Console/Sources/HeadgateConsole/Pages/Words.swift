import HeadgateClient
import HeadgateCommands
import HeadgateData

/// Quantities and states as pages show them.
enum Words {
    /// `0.8 ms`, `12 ms`, `1.2 s`, `3 min`.
    static func seconds(_ seconds: Double) -> String {
        switch seconds {
        case ..<0.000_95: return "\(Quantity.rate(max(0, seconds * 1e6).rounded())) µs"
        case ..<0.95: return "\(Quantity.rate(seconds * 1_000)) ms"
        case ..<100: return "\(Quantity.rate(seconds)) s"
        default: return Quantity.time(.seconds(seconds))
        }
    }

    /// How old something is; a dash where there is nothing.
    static func age(_ duration: Duration?) -> String {
        duration.map(Quantity.time) ?? "–"
    }

    /// A moment, as it is read on the machine; with what the machine means by it.
    static func moment(_ moment: Timestamp?, _ clock: WallClock) -> HTML {
        guard let moment else { return "–" }
        return "<time datetime=\"\(moment.text)\">\(clock.text(moment))</time>"
    }

    /// A state in a word that is told apart by more than its colour.
    static func state(_ state: ListedBarrier.State) -> HTML {
        badge(state.rawValue, state == .open ? .good : state == .closed ? .held : .waiting)
    }

    /// Whether the way to a dispatcher is open.
    static func way(_ dispatcher: ListedDispatcher) -> HTML {
        dispatcher.isOpen ? badge("open", .good) : badge("closed", .held)
    }

    /// What a mark means.
    enum Tone: String {
        case good, held, waiting, bad
    }

    /// A word with a mark before it, whose form goes with its meaning.
    static func badge(_ word: String, _ tone: Tone) -> HTML {
        "<span class=\"badge \(tone.rawValue)\">\(word)</span>"
    }

    /// A figure with its name.
    static func figure(_ name: String, _ value: HTML, _ note: HTML = "") -> HTML {
        let note: HTML = note.text.isEmpty ? "" : " <span class=\"note\">\(note)</span>"
        return "<div><dt>\(name)</dt><dd>\(value)\(note)</dd></div>"
    }

    /// Words with a capital at their beginning and a full stop at their end.
    static func sentence(_ words: String) -> String {
        words.prefix(1).uppercased() + words.dropFirst() + "."
    }

    /// A sentence in which words between backticks are to be typed.
    static func prose(_ text: String) -> HTML {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
        let pieces = parts.enumerated().map { place, part -> HTML in
            place % 2 == 1 ? "<code>\(part)</code>" : "\(part)"
        }
        return "\(pieces)"
    }

    /// A number with its digits in groups, which does not break.
    static func count(_ number: Int) -> HTML {
        "\(Quantity.grouped(number).map { $0 == " " ? "\u{202F}" : String($0) }.joined())"
    }

    /// How many a second, which does not break.
    static func rate(_ perSecond: Double) -> HTML {
        "\(Quantity.rate(perSecond).map { $0 == " " ? "\u{202F}" : String($0) }.joined())"
    }
}

/// JSON as people read it.
enum SettingsText {
    /// An object as lines of a path and a value: `backoff.base_ms`, `500`.
    static func lines(_ object: DataObject, below path: String = "") -> [(path: String, value: String)] {
        object.flatMap { name, value -> [(path: String, value: String)] in
            let place = path.isEmpty ? name : "\(path).\(name)"
            if case .object(let inner) = value, !inner.isEmpty { return lines(inner, below: place) }
            if case .string(let text) = value { return [(place, text)] }
            return [(place, value.json)]
        }
    }
}
