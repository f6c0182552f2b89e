public import CSimdjson
public import Glibc
import HeadgateData

/// A value inside a scanned text.
///
/// It points into the text and into the scanner's memory and keeps neither alive: it is valid until the scanner's next
/// scan, and only as long as the bytes of the text stay in place. Copying it costs nothing: it is two pointers.
public struct JSONView {
    @usableFromInline let text: UnsafePointer<UInt8>
    @usableFromInline let entry: UnsafePointer<hg_json_entry>

    /// The view of a value of a scanned text; that of the whole text, if the entry is the first.
    @inlinable
    init(text: UnsafePointer<UInt8>, entry: UnsafePointer<hg_json_entry>) {
        self.text = text
        self.entry = entry
    }

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

    /// What this value is.
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

    /// The value as it stands in the text, with its quotes or brackets and whatever white space it has inside.
    @inlinable @inline(__always) public var raw: UnsafeRawBufferPointer {
        slice(from: entry.pointee.start, to: entry.pointee.end)
    }

    /// How many elements an array or members an object has; 0 for anything else.
    @inlinable public var count: Int {
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

    @inlinable
    func slice(from start: UInt32, to end: UInt32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text + Int(start), count: Int(end &- start))
    }

    /// The value, or name, whose entry stands so many behind this one's.
    @inlinable
    func ahead(_ entries: UInt32) -> JSONView {
        JSONView(text: text, entry: entry + Int(entries))
    }

    /// What stands behind this value and all that it contains.
    var next: JSONView { ahead(entry.pointee.span) }

    /// What stands behind a container's beginning: its first element or name, if it has one.
    var inside: JSONView { ahead(1) }
}

extension JSONView {
    /// The value of `true` or `false`; nil when this is neither.
    public var bool: Bool? {
        kind == .bool ? raw.first == UInt8(ascii: "t") : nil
    }

    /// A number as it was written; nil when this is none.
    public var number: DataNumber? {
        kind == .number ? DataNumber(unchecked: String(decoding: raw, as: UTF8.self)) : nil
    }

    /// A whole number; nil when this is none, or too large. `7.0` and `7e2` are whole numbers too.
    public var int: Int64? {
        guard kind == .number else { return nil }
        return shortWholeNumber ?? number?.int.map(Int64.init)
    }

    /// The value, copied out of the text. Of several members with one name the last counts, in the place of the first.
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

    /// A number of up to 18 digits and nothing else, which can neither overflow nor needs a string to be read.
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
    /// The members of an object, copied out of the text; none when it is no object.
    public init(_ view: JSONView) {
        self.init(JSONMembers(container: view).lazy.map { ($0.key.string ?? "", $0.value.item) })
    }
}

extension JSONView {
    /// What is between the quotes of a string that has no escapes; nil when it has some, or this is no string.
    @inlinable @inline(__always) public var contents: UnsafeRawBufferPointer? {
        entry.pointee.kind == HG_JSON_STRING.rawValue ? spelling : nil
    }

    /// A string, unescaped; nil when this is none. Half a surrogate pair becomes U+FFFD.
    public var string: String? {
        guard kind == .string else { return nil }
        if let contents { return String(decoding: contents, as: UTF8.self) }
        var bytes: [UInt8] = []
        appendUnescaped(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether this is the string `text`, escapes or not. It is inlined where it is used, so that a short text is compared at once.
    @inlinable @inline(__always)
    public func equals(_ text: StaticString) -> Bool {
        guard let contents else { return kind == .string && equalsUnescaped(text) }
        guard contents.count == text.utf8CodeUnitCount, let start = contents.baseAddress else { return false }
        return memcmp(start, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    /// Appends a string's UTF-8, unescaped; nothing when this is no string. Half a surrogate pair becomes U+FFFD.
    public func appendUnescaped(to bytes: inout [UInt8]) {
        guard kind == .string else { return }
        if let contents { return bytes.append(contentsOf: contents) }
        JSONUnescaper(spelling).append(to: &bytes)
    }

    /// Appends a string, unescaped, so that two that are not the same never give the same bytes: half a surrogate pair
    /// stays what it is, though that is not UTF-8. Nothing when this is no string.
    public func appendExact(to bytes: inout [UInt8]) {
        guard kind == .string else { return }
        if let contents { return bytes.append(contentsOf: contents) }
        JSONUnescaper(spelling).append(to: &bytes, keepingHalves: true)
    }

    @usableFromInline
    func equalsUnescaped(_ text: StaticString) -> Bool {
        var bytes: [UInt8] = []
        appendUnescaped(to: &bytes)
        return bytes.elementsEqual(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// What is between the quotes of a string.
    @inlinable var spelling: UnsafeRawBufferPointer {
        slice(from: entry.pointee.start &+ 1, to: entry.pointee.end &- 1)
    }
}

/// The elements of an array, in order. Valid as long as the view they come from.
public struct JSONElements: Sequence {
    fileprivate let container: JSONView

    /// How many there are.
    public var count: Int { container.count }

    public var underestimatedCount: Int { count }

    public func makeIterator() -> Iterator {
        Iterator(place: container.inside, remaining: container.count)
    }

    /// Goes from one element to the next, past all that is inside it.
    public struct Iterator: IteratorProtocol {
        fileprivate var place: JSONView
        fileprivate var remaining: Int

        public mutating func next() -> JSONView? {
            guard remaining > 0 else { return nil }
            let element = place
            place = element.next
            remaining -= 1
            return element
        }
    }
}

/// The members of an object, in order and with repeated names. Valid as long as the view they come from.
public struct JSONMembers: Sequence {
    fileprivate let container: JSONView

    /// How many there are.
    public var count: Int { container.count }

    public var underestimatedCount: Int { count }

    public func makeIterator() -> Iterator {
        // A container of another kind has no members to go through: what is not an object is empty.
        let count = container.kind == .object ? container.count : 0
        return Iterator(place: container.inside, remaining: count)
    }

    /// Goes from one member to the next, past all that is inside it.
    public struct Iterator: IteratorProtocol {
        fileprivate var place: JSONView
        fileprivate var remaining: Int

        public mutating func next() -> (key: JSONView, value: JSONView)? {
            guard remaining > 0 else { return nil }
            let (key, value) = (place, place.inside)
            place = value.next
            remaining -= 1
            return (key, value)
        }
    }
}
