internal import CSimdjson

/// Where a text stops being JSON, and what is wrong there: the scanner itself only says that it is none.
public struct JSONComplaint: Error, Equatable, Sendable {
    /// Bytes before the place.
    public let offset: Int
    /// What is wrong there, for people.
    public let message: String

    /// The first thing that is wrong with a text which was refused as `JSONFault.notJSON`.
    ///
    /// The text is scanned once more, in a time that grows with its length, whatever its nesting. So this is for texts that
    /// people write, not for what peers send.
    public init(about text: [UInt8]) {
        let scanner = hg_json_scanner_create(1)
        defer { hg_json_scanner_destroy(scanner) }
        let complaint = text.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return hg_json_complaint(offset: 0, lack: Self.rest) }
            return hg_json_scanner_complain(scanner, start, bytes.count)
        }
        offset = Int(complaint.offset)
        message = Self.words(hg_json_lack(UInt32(complaint.lack)))
    }

    private static let rest = UInt8(HG_JSON_LACKS_REST.rawValue)

    private static func words(_ lack: hg_json_lack) -> String {
        switch lack {
        case HG_JSON_LACKS_NAME: "expected a name in quotes"
        case HG_JSON_LACKS_COLON: "expected `:`"
        case HG_JSON_LACKS_COMMA_IN_ARRAY: "expected `,` or `]`"
        case HG_JSON_LACKS_COMMA_IN_OBJECT: "expected `,` or `}`"
        case HG_JSON_LACKS_END: "expected nothing more"
        case HG_JSON_LACKS_REST: "the text ends too early"
        case HG_JSON_LACKS_DIGIT: "expected a digit"
        case HG_JSON_LACKS_ESCAPE: "unknown escape in a string"
        case HG_JSON_LACKS_HEX_DIGITS: "expected four hexadecimal digits"
        case HG_JSON_LACKS_ESCAPED_CONTROL: "a string must end on its line, and have control characters escaped"
        case HG_JSON_LACKS_CLOSING_QUOTE: "a string without its closing quote"
        default: "expected a value"
        }
    }
}
