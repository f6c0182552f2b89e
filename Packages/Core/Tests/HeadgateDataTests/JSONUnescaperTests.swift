import HeadgateData
import Testing

@Suite("Decoding the escapes of a JSON string")
struct JSONUnescaperTests {
    private func decoded(_ text: String, keepingHalves: Bool = false) -> [UInt8] {
        var bytes: [UInt8] = []
        Array(text.utf8).withUnsafeBytes { JSONUnescaper($0).append(to: &bytes, keepingHalves: keepingHalves) }
        return bytes
    }

    /// The spelling of a character as one escape, or as two escapes of a surrogate pair.
    private func escaped(_ scalar: Unicode.Scalar) -> String {
        UTF16.encode(scalar).map { units in
            units.map { "\\u" + String(repeating: "0", count: 4 - String($0, radix: 16).count) + String($0, radix: 16) }
                .joined()
        } ?? ""
    }

    @Test("An escaped character has the bytes of UTF-8, at the limits of each length and between them")
    func scalars() {
        let limits: [UInt32] = [0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x1_0000, 0x10_FFFF]
        let values = limits + stride(from: 1, to: 0x11_0000, by: 4093)
        for scalar in values.compactMap(Unicode.Scalar.init) {
            let text = "a" + escaped(scalar) + "b"
            #expect(decoded(text) == Array("a\(Character(scalar))b".utf8), "\(scalar.value)")
        }
    }

    @Test("Short escapes, escapes in a row and lone surrogates are decoded")
    func others() {
        #expect(decoded(#"\b\f\n\r\t\"\\\/x"#) == [8, 12, 10, 13, 9, 0x22, 0x5C, 0x2F, 0x78])
        #expect(decoded(#"\uD800x\uDC00"#) == Array("\u{FFFD}x\u{FFFD}".utf8))
        #expect(decoded(#"\uD800"#, keepingHalves: true) == [0xED, 0xA0, 0x80])
    }
}
