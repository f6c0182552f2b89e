internal import CSimdjson

/// A value inside a scanned text.
///
/// It points into the text and into the scanner's memory and keeps neither alive: it is valid until the scanner's next
/// scan, and only as long as the bytes of the text stay in place. Copying it costs nothing.
public struct JSONView {
    /// What a value is.
    public enum Kind: Sendable {
        /// JSON's `null`.
        case null
        /// `true` or `false`.
        case bool
        /// A number of any size.
        case number
        /// A string.
        case string
        /// An array.
        case array
        /// An object.
        case object
    }

    let text: UnsafePointer<UInt8>
    let entry: UnsafePointer<hg_json_entry>
    let entries: UnsafePointer<hg_json_entry>

    /// What this value is.
    public var kind: Kind {
        switch UInt32(entry.pointee.kind) {
        case HG_JSON_BOOL.rawValue: .bool
        case HG_JSON_NUMBER.rawValue: .number
        case HG_JSON_STRING.rawValue: .string
        case HG_JSON_ARRAY.rawValue: .array
        case HG_JSON_OBJECT.rawValue: .object
        default: .null
        }
    }

    /// The value as it stands in the text, with its quotes or brackets and whatever white space it has inside.
    public var raw: UnsafeRawBufferPointer {
        slice(from: entry.pointee.start, to: entry.pointee.end)
    }

    /// How many elements an array or members an object has; 0 for anything else.
    public var count: Int {
        Int(entry.pointee.count)
    }

    /// The elements of an array; nil when it is none.
    public var elements: JSONElements? {
        kind == .array ? JSONElements(container: self) : nil
    }

    /// The members of an object, in order and with repeated names; nil when it is none.
    public var members: JSONMembers? {
        kind == .object ? JSONMembers(container: self) : nil
    }

    /// The value of a member; nil when there is none of that name, or this is no object.
    ///
    /// Of several members with one name the last counts, as with most parsers. Names are compared unescaped.
    public func member(_ name: StaticString) -> JSONView? {
        var found: JSONView?
        for (key, value) in JSONMembers(container: self) where key.equals(name) { found = value }
        return found
    }

    func slice(from start: UInt32, to end: UInt32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text + Int(start), count: Int(end - start))
    }

    func at(_ index: UInt32) -> JSONView {
        JSONView(text: text, entry: entries + Int(index), entries: entries)
    }

    /// The number of the entry behind this value's own.
    var firstInside: UInt32 {
        UInt32(entry - entries) + 1
    }

    /// The number of the entry behind this value and all that it contains.
    var next: UInt32 {
        entry.pointee.next
    }
}
