public import CSimdjson
public import Glibc
import HeadgateData

/// A value within a scanned text.
///
/// A view refers to the text and to the scanner's memory without retaining them: it is valid until the scanner's next
/// scan, and only as long as the bytes of the text stay in place. A view consists of two pointers, so copying it is
/// cheap.
public struct JSONView {
    @usableFromInline let text: UnsafePointer<UInt8>
    @usableFromInline let entry: UnsafePointer<hg_json_entry>

    /// Creates the view of a value; of the whole text for the first entry.
    @inlinable
    init(text: UnsafePointer<UInt8>, entry: UnsafePointer<hg_json_entry>) {
        self.text = text
        self.entry = entry
    }

    /// The type of a value.
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

    /// The type of this value.
    @inlinable @inline(__always) public var kind: Kind {
        switch entry.pointee.kind {
        case HG_JSON_BOOL.rawValue: .bool
        case HG_JSON_NUMBER.rawValue: .number
        case HG_JSON_STRING.rawValue, HG_JSON_ESCAPED_STRING.rawValue: .string
        case HG_JSON_ARRAY.rawValue: .array
        case HG_JSON_OBJECT.rawValue: .object
        default: .null
        }
    }

    /// The bytes of the value in the text, with quotes or brackets and the white space within.
    @inlinable @inline(__always) public var raw: UnsafeRawBufferPointer {
        slice(from: entry.pointee.start, to: entry.pointee.end)
    }

    /// The number of elements of an array or members of an object; 0 for other values.
    @inlinable public var count: Int {
        Int(entry.pointee.count)
    }

    /// The elements of an array; nil for other values.
    public var elements: JSONElements? {
        kind == .array ? JSONElements(container: self) : nil
    }

    /// The members of an object in order, with repeated names; nil for other values.
    public var members: JSONMembers? {
        kind == .object ? JSONMembers(container: self) : nil
    }

    /// Returns the value of a member, or nil if there is no such member or this is not an object.
    ///
    /// If a name repeats, the last member counts, as with most parsers. Names are compared with their escapes decoded.
    public func member(_ name: StaticString) -> JSONView? {
        var found: JSONView?
        for (key, value) in JSONMembers(container: self) where key.equals(name) { found = value }
        return found
    }

    @inlinable
    func slice(from start: UInt32, to end: UInt32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text + Int(start), count: Int(end &- start))
    }

    /// Returns the value or name whose entry is `entries` entries after this one.
    @inlinable
    func ahead(_ entries: UInt32) -> JSONView {
        JSONView(text: text, entry: entry + Int(entries))
    }

    /// The entry after this value and all that it contains.
    var next: JSONView { ahead(entry.pointee.span) }

    /// The entry after the beginning of a container: its first element or name, if there is one.
    var inside: JSONView { ahead(1) }
}

extension JSONView {
    /// The value of `true` or `false`; nil for other values.
    public var bool: Bool? {
        kind == .bool ? raw.first == UInt8(ascii: "t") : nil
    }

    /// The number with its original digits; nil for other values.
    public var number: DataNumber? {
        kind == .number ? DataNumber(unchecked: String(decoding: raw, as: UTF8.self)) : nil
    }

    /// The whole number; nil for other values and for a number that is too large. `7.0` and `7e2` are whole numbers.
    public var int: Int64? {
        guard kind == .number, raw.count <= JSONView.longestWholeNumber else { return nil }
        return shortWholeNumber ?? number?.int.map(Int64.init)
    }

    /// A copy of the value. If a name repeats, the last value is kept at the position of the first.
    public var item: DataItem {
        switch kind {
        case .null: .null
        case .bool: .bool(bool == true)
        case .number: .number(DataNumber(unchecked: String(decoding: raw, as: UTF8.self)))
        case .string: .string(string ?? "")
        case .array: .array(JSONElements(container: self).map(\.item))
        case .object: .object(DataObject(self))
        }
    }

    /// The most bytes of a number that is read as a whole number. Reading takes time for each digit, and a client may
    /// send a million (Behaviour X3).
    private static let longestWholeNumber = 256

    /// The value of a number with up to 18 digits and nothing else, which is read without a string; nil for other
    /// numbers.
    private var shortWholeNumber: Int64? {
        let isNegative = raw.first == UInt8(ascii: "-")
        let digits = raw.dropFirst(isNegative ? 1 : 0)
        guard digits.count <= 18 else { return nil }
        var value: Int64 = 0
        for digit in digits {
            guard 0x30...0x39 ~= digit else { return nil }
            value = value * 10 + Int64(digit - 0x30)
        }
        return isNegative ? -value : value
    }
}

extension DataObject {
    /// Copies the members of an object; none if the view is not an object.
    public init(_ view: JSONView) {
        self.init(JSONMembers(container: view).lazy.map { ($0.key.string ?? "", $0.value.item) })
    }
}

extension JSONView {
    /// The bytes between the quotes of a string without escapes; nil for a string with escapes and for other values.
    @inlinable @inline(__always) public var contents: UnsafeRawBufferPointer? {
        entry.pointee.kind == HG_JSON_STRING.rawValue ? rawText : nil
    }

    /// The string with its escapes decoded; nil for other values. Lone surrogates become U+FFFD.
    public var string: String? {
        guard kind == .string else { return nil }
        if let contents { return String(decoding: contents, as: UTF8.self) }
        var bytes: [UInt8] = []
        appendUnescaped(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns true if this is the string `text`, with or without escapes. It is inlined, so that a short text is
    /// compared in a few instructions.
    @inlinable @inline(__always)
    public func equals(_ text: StaticString) -> Bool {
        guard let contents else { return kind == .string && equalsUnescaped(text) }
        guard contents.count == text.utf8CodeUnitCount, let start = contents.baseAddress else { return false }
        return memcmp(start, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    /// Appends the UTF-8 of a string with its escapes decoded. Lone surrogates become U+FFFD. Does nothing for other
    /// values.
    public func appendUnescaped(to bytes: inout [UInt8]) {
        guard kind == .string else { return }
        if let contents { return bytes.append(contentsOf: contents) }
        JSONUnescaper(rawText).append(to: &bytes)
    }

    /// Appends the bytes of a string with its escapes decoded. Different strings give different bytes. Lone surrogates
    /// are kept, although that is not valid UTF-8. Does nothing for other values.
    public func appendExact(to bytes: inout [UInt8]) {
        guard kind == .string else { return }
        if let contents { return bytes.append(contentsOf: contents) }
        JSONUnescaper(rawText).append(to: &bytes, keepingHalves: true)
    }

    /// True if a string in the value contains an escape of a surrogate. The surrogate may be lone, or half of a pair.
    var hasHalves: Bool {
        let bytes = raw
        return bytes.indices.dropLast(3).contains { offset in
            bytes[offset] == UInt8(ascii: "\\") && bytes[offset + 1] == UInt8(ascii: "u")
                && bytes[offset + 2] | 0x20 == UInt8(ascii: "d") && bytes[offset + 3] >= UInt8(ascii: "8")
        }
    }

    /// The value's JSON text, in which spaces replace line ends and tabs between tokens.
    var plainText: [UInt8] {
        // JSON allows bytes below the space only between tokens, as white space.
        raw.map { max($0, UInt8(ascii: " ")) }
    }

    @usableFromInline
    func equalsUnescaped(_ text: StaticString) -> Bool {
        guard rawText.count <= JSONView.longestEscape * text.utf8CodeUnitCount else { return false }
        var bytes: [UInt8] = []
        appendUnescaped(to: &bytes)
        return bytes.elementsEqual(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// The most bytes that an escape has for each byte of its character. A longer string cannot be equal to a text, and
    /// decoding one of a megabyte would take long (Behaviour X3).
    static let longestEscape = 6

    /// The bytes between the quotes of a string.
    @inlinable var rawText: UnsafeRawBufferPointer {
        slice(from: entry.pointee.start &+ 1, to: entry.pointee.end &- 1)
    }
}

/// The elements of an array in order. It is valid as long as the array's view.
public struct JSONElements: Sequence {
    fileprivate let container: JSONView

    /// The number of elements.
    public var count: Int { container.count }

    public var underestimatedCount: Int { count }

    public func makeIterator() -> Iterator {
        Iterator(cursor: container.inside, remaining: container.count)
    }

    /// Iterates over the elements, skipping their contents.
    public struct Iterator: IteratorProtocol {
        fileprivate var cursor: JSONView
        fileprivate var remaining: Int

        public mutating func next() -> JSONView? {
            guard remaining > 0 else { return nil }
            let element = cursor
            cursor = element.next
            remaining -= 1
            return element
        }
    }
}

/// The members of an object in order, with repeated names. It is valid as long as the object's view.
public struct JSONMembers: Sequence {
    fileprivate let container: JSONView

    /// The number of members.
    public var count: Int { container.count }

    public var underestimatedCount: Int { count }

    public func makeIterator() -> Iterator {
        // Other values than objects have no members.
        let count = container.kind == .object ? container.count : 0
        return Iterator(cursor: container.inside, remaining: count)
    }

    /// Iterates over the members, skipping their contents.
    public struct Iterator: IteratorProtocol {
        fileprivate var cursor: JSONView
        fileprivate var remaining: Int

        public mutating func next() -> (key: JSONView, value: JSONView)? {
            guard remaining > 0 else { return nil }
            let (key, value) = (cursor, cursor.inside)
            cursor = value.next
            remaining -= 1
            return (key, value)
        }
    }
}
