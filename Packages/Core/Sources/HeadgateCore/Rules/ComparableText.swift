/// A string to compare others with, by bytes or without regard to case. Made ready once.
struct ComparableText: Sendable, Equatable {
    private let text: String
    private let ignoreCase: Bool

    init(_ text: String, ignoreCase: Bool) {
        self.text = ignoreCase ? ComparableText.folded(text) : text
        self.ignoreCase = ignoreCase
    }

    /// Calls `body` with the UTF-8 of another string and of this one.
    func compare(_ other: String, _ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Bool) -> Bool {
        var other = ignoreCase ? ComparableText.folded(other) : other
        var text = text
        return other.withUTF8 { other in text.withUTF8 { body(other, $0) } }
    }

    /// Upper case first: it brings together what lower case alone leaves apart, like the two small sigmas.
    private static func folded(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.lowercased() }
        return text.uppercased().lowercased()
    }
}

/// How a string may stand to another.
enum TextRelation: Sendable {
    case equal
    case prefix
    case suffix
    case infix

    /// Whether `text` is equal to what is wanted, begins with it, ends with it or contains it.
    func holds(_ text: String, _ wanted: ComparableText) -> Bool {
        wanted.compare(text) { text, wanted in
            guard text.count >= wanted.count else { return false }
            return switch self {
            case .equal: text.count == wanted.count && text.starts(with: wanted)
            case .prefix: text.starts(with: wanted)
            case .suffix: text.suffix(wanted.count).elementsEqual(wanted)
            case .infix: TextRelation.contains(text, wanted)
            }
        }
    }

    private static func contains(_ text: UnsafeBufferPointer<UInt8>, _ wanted: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = wanted.first else { return true }
        let starts = 0...(text.count - wanted.count)
        return starts.contains { text[$0] == first && text[$0...].starts(with: wanted) }
    }
}
