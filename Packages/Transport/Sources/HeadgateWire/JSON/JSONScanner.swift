internal import CSimdjson
import HeadgateData

/// A scanner of JSON text, which it does not copy.
///
/// The scanner is strict: it accepts exactly one value by RFC 8259, in valid UTF-8 and without a byte order mark.
/// Numbers of any size and escapes of lone surrogates are part of that grammar and are accepted. The scanner reads no
/// byte outside of the text, and allocates nothing once its memory has grown.
public final class JSONScanner {
    /// The default nesting limit of arrays and objects (`limits.max_depth`).
    public static let defaultDepth = 64

    /// The largest nesting limit. Functions that process a text recursively need stack for each level.
    public static let greatestDepth = 1024

    private let scanner: OpaquePointer?

    /// The nesting limit of arrays and objects from the next text on; at least 1, at most ``greatestDepth``.
    public var maxDepth: Int {
        didSet { hg_json_scanner_set_max_depth(scanner, JSONScanner.allowed(maxDepth)) }
    }

    /// Creates a scanner with a nesting limit; at least 1, at most ``greatestDepth``.
    public init(maxDepth: Int = JSONScanner.defaultDepth) {
        self.maxDepth = maxDepth
        scanner = hg_json_scanner_create(JSONScanner.allowed(maxDepth))
    }

    private static func allowed(_ depth: Int) -> UInt32 { UInt32(min(max(depth, 1), greatestDepth)) }

    deinit {
        hg_json_scanner_destroy(scanner)
    }

    /// Scans a text. The view is valid until the next scan, and only as long as the text's bytes stay in place.
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
    /// Parses a JSON value. It is meant for texts that are not on the hot path.
    public init(parsing text: UnsafeRawBufferPointer, maxDepth: Int = JSONScanner.defaultDepth) throws(JSONFault) {
        let scanner = JSONScanner(maxDepth: maxDepth)
        self = try withExtendedLifetime(scanner) { () throws(JSONFault) in try scanner.scan(text).item }
    }

    /// Parses a JSON value. It is meant for texts that are not on the hot path.
    public init(parsing text: [UInt8], maxDepth: Int = JSONScanner.defaultDepth) throws(JSONFault) {
        self = try text.withUnsafeBufferPointer { bytes throws(JSONFault) in
            try DataItem(parsing: UnsafeRawBufferPointer(bytes), maxDepth: maxDepth)
        }
    }
}

/// The reason why the scanner refused a text.
public enum JSONFault: Error, Sendable, Hashable {
    /// The text is not exactly one JSON value with optional white space around it.
    case notJSON
    /// The text contains bytes that are not UTF-8.
    case notUTF8
    /// Arrays and objects are nested deeper than the limit.
    case tooDeep
    /// The text is longer than the scanner accepts, or there is no memory for its structure.
    case tooLarge
}

/// The position and the kind of the first error in a text. The scanner itself only reports that the text is not JSON.
public struct JSONSyntaxError: Error, Equatable, Sendable {
    /// The number of bytes before the error.
    public let offset: Int
    /// The error, for people.
    public let message: String
    /// True if the text ends within a value or string, and more text could make it JSON.
    public let isCutOff: Bool

    /// Finds the first error of a text that was refused as `JSONFault.notJSON`.
    ///
    /// The text is scanned again, in time proportional to its length. This is meant for texts that people write, not
    /// for input from peers.
    public init(about text: [UInt8]) {
        let scanner = hg_json_scanner_create(1)
        defer { hg_json_scanner_destroy(scanner) }
        let problem = text.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return hg_json_problem(offset: 0, lack: Self.rest) }
            return hg_json_scanner_complain(scanner, start, bytes.count)
        }
        offset = Int(problem.offset)
        let lack = hg_json_lack(UInt32(problem.lack))
        message = Self.words(lack)
        isCutOff = lack == HG_JSON_LACKS_REST || lack == HG_JSON_LACKS_CLOSING_QUOTE
    }

    private static let rest = UInt8(HG_JSON_LACKS_REST.rawValue)

    private static func words(_ lack: hg_json_lack) -> String {
        switch lack {
        case HG_JSON_LACKS_NAME: "expected a name in quotes"
        case HG_JSON_LACKS_COLON: "expected `:`"
        case HG_JSON_LACKS_COMMA_IN_ARRAY: "expected `,` or `]`"
        case HG_JSON_LACKS_COMMA_IN_OBJECT: "expected `,` or `}`"
        case HG_JSON_LACKS_END: "unexpected text after the value"
        case HG_JSON_LACKS_REST: "the text ends too early"
        case HG_JSON_LACKS_DIGIT: "expected a digit"
        case HG_JSON_LACKS_ESCAPE: "unknown escape in a string"
        case HG_JSON_LACKS_HEX_DIGITS: "expected four hexadecimal digits"
        case HG_JSON_LACKS_ESCAPED_CONTROL: "a string must end on its line, and have control characters escaped"
        case HG_JSON_LACKS_CLOSING_QUOTE: "a string has no closing quote"
        default: "expected a value"
        }
    }
}
