import HeadgateData

/// The decoded key of an event. Different spellings are equal: `"a"` and `"\u0061"` are one key (Behaviour Q2, P6).
///
/// The bytes are the key's UTF-8. A lone surrogate is encoded in three bytes, as UTF-8 would encode its code point.
/// Valid UTF-8 never contains these bytes, so such a key equals only itself, and not U+FFFD.
public struct EventKey: Hashable, Sendable {
    private let bytes: ArraySlice<UInt8>

    /// Creates a key from a valid JSON string with its quotes.
    init(json: ArraySlice<UInt8>) {
        let text = json.dropFirst().dropLast()
        bytes = text.contains(UInt8(ascii: "\\")) ? EventKey.plain(text)[...] : text
    }

    private static func plain(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var plain: [UInt8] = []
        text.withUnsafeBytes { JSONUnescaper($0).append(to: &plain, keepingHalves: true) }
        return plain
    }
}
