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

    /// A scanner that allows arrays and objects nested so deep; at least 1, at most `greatestDepth`.
    public init(maxDepth: Int = JSONScanner.usualDepth) {
        scanner = hg_json_scanner_create(UInt32(min(max(maxDepth, 1), JSONScanner.greatestDepth)))
    }

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
        return JSONView(text: bytes, entry: entries, entries: entries)
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
