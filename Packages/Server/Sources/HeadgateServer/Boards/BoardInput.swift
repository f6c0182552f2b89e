import HeadgateData
import HeadgateWire

/// The input or the output of a board as a client sent it.
struct BoardInput: Sendable {
    /// The decoded value, for the daemon's own code.
    var item = DataItem.null
    /// The value that the option `unique` compares (Behaviour A3); nil if that is `item`.
    var compared: DataItem?
    /// The value's JSON text, with spaces in place of line ends and tabs, or nil if `item` has the exact value. Other
    /// clients get this text, because it keeps half surrogate pairs (Behaviour A1).
    var text: [UInt8]?

    init() {}

    init(_ view: JSONView) {
        item = view.item
        let exact = view.exactItem
        // A `?:` here would turn nil into the item null.
        guard exact != item else { return }
        compared = exact
        // A JSON string contains no control characters, so each of these bytes is white space between tokens.
        text = view.raw.map { max($0, UInt8(ascii: " ")) }
    }
}

extension Shape where Value == BoardInput {
    /// A parameter that takes any value as the input of a board.
    static var boardInput: Shape { Shape(.any) { BoardInput($0) } }
}

extension JSONView {
    /// The value, with strings that are equal only if the JSON strings are equal.
    ///
    /// A Swift string cannot hold half a surrogate pair. Here the mark U+10FFFF, which is no character, and the half's
    /// hexadecimal digits replace it. The mark itself becomes two marks.
    fileprivate var exactItem: DataItem {
        switch kind {
        case .null, .bool, .number: item
        case .string: .string(exactText)
        case .array: .array(elements?.map(\.exactItem) ?? [])
        case .object: .object(DataObject(members?.map { ($0.key.exactText, $0.value.exactItem) } ?? []))
        }
    }

    private var exactText: String {
        var bytes: [UInt8] = []
        appendExact(to: &bytes)
        // Half a pair begins with 0xED, and the mark with 0xF4. Text without either needs no replacement.
        guard bytes.contains(where: { $0 == 0xED || $0 == 0xF4 }) else { return String(decoding: bytes, as: UTF8.self) }
        var (text, rest) = ([UInt8](), bytes[...])
        while let byte = rest.first {
            if byte == 0xED, let second = rest.dropFirst().first, second >= 0xA0 {
                text += JSONView.mark + rest.prefix(3).flatMap { Array(String($0, radix: 16).utf8) }
                rest = rest.dropFirst(3)
            } else if rest.starts(with: JSONView.mark) {
                text += JSONView.mark + JSONView.mark
                rest = rest.dropFirst(JSONView.mark.count)
            } else {
                text.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let mark = Array("\u{10FFFF}".utf8)
}
