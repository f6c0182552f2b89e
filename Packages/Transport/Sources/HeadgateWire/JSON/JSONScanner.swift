internal import CSimdjson
import HeadgateData

/// Scans JSON text without copying it.
///
/// It is strict: exactly one value, as RFC 8259 has it, in valid UTF-8 and with no byte order mark. Numbers of any size
/// and escapes of half a surrogate pair are in that grammar, so they pass. The scanner reads no byte outside of the
/// text, and once warm it allocates nothing.
public final class JSONScanner {
    /// How deep arrays and objects may be nested when nothing else is said (`limits.max_depth`).
    public static let usualDepth = 64

    /// The greatest depth that can be allowed; what is made from a text, level by level, needs some stack for each.
    public static let greatestDepth = 1024

    private let scanner: OpaquePointer?

    /// How deep arrays and objects may be nested from the next text on; at least 1, at most `greatestDepth`.
    public var maxDepth: Int {
        didSet { hg_json_scanner_set_max_depth(scanner, JSONScanner.allowed(maxDepth)) }
    }

    /// A scanner that allows arrays and objects nested so deep; at least 1, at most `greatestDepth`.
    public init(maxDepth: Int = JSONScanner.usualDepth) {
        self.maxDepth = maxDepth
        scanner = hg_json_scanner_create(JSONScanner.allowed(maxDepth))
    }

    private static func allowed(_ depth: Int) -> UInt32 { UInt32(min(max(depth, 1), greatestDepth)) }

    deinit {
        hg_json_scanner_destroy(scanner)
    }

    /// Scans one text. The view is valid until the next scan and only as long as the text's bytes stay in place.
    public func scan(_ text: UnsafeRawBufferPointer) throws(JSONFault) -> JSONView {
        guard let bytes = text.baseAddress?.assumingMemoryBound(to: UInt8.self) else { throw .notJSON }
        var entries: UnsafePointer<hg_json_entry>?
        let fault = hg_json_scanner_scan(scanner, bytes, text.count, &entries)
        if let fault = JSONFault(fault) { throw fault }
        guard let entries else { throw .tooLarge }
        return JSONView(text: bytes, entry: entries)
    }
}

extension JSONFault {
    fileprivate init?(_ fault: hg_json_fault) {
        switch fault {
        case HG_JSON_FINE: return nil
        case HG_JSON_NOT_UTF8: self = .notUTF8
        case HG_JSON_TOO_DEEP: self = .tooDeep
        case HG_JSON_TOO_LARGE: self = .tooLarge
        default: self = .notJSON
        }
    }
}

extension DataItem {
    /// Reads one JSON value; for texts that are not on the hot path.
    public init(parsing text: UnsafeRawBufferPointer, maxDepth: Int = JSONScanner.usualDepth) throws(JSONFault) {
        let scanner = JSONScanner(maxDepth: maxDepth)
        self = try withExtendedLifetime(scanner) { () throws(JSONFault) in try scanner.scan(text).item }
    }

    /// Reads one JSON value; for texts that are not on the hot path.
    public init(parsing text: [UInt8], maxDepth: Int = JSONScanner.usualDepth) throws(JSONFault) {
        self = try text.withUnsafeBufferPointer { bytes throws(JSONFault) in
            try DataItem(parsing: UnsafeRawBufferPointer(bytes), maxDepth: maxDepth)
        }
    }
}

/// Why a text was refused by the scanner.
public enum JSONFault: Error, Sendable, Hashable {
    /// It is not one JSON value with nothing but white space around it.
    case notJSON
    /// It has bytes that are not UTF-8.
    case notUTF8
    /// Its arrays and objects are nested deeper than allowed.
    case tooDeep
    /// It is longer than the scanner takes, or there is no memory for its structure.
    case tooLarge
}

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
