/// A writer of JSON text, without spaces, into a growing array of bytes.
///
/// The writer is meant for the hot path: it copies bytes in runs and creates no strings. The caller ensures that values
/// and names form valid JSON; `member` and `element` write the commas.
public struct JSONWriter {
    /// The bytes written so far.
    public var bytes: [UInt8]

    /// True if the next member or element needs a comma. One flag is enough for any depth: an opening bracket clears
    /// it, and a closing bracket sets it.
    @usableFromInline var needsComma = false

    /// Creates a writer that can hold `capacity` bytes before it has to grow.
    @inlinable
    public init(capacity: Int = 0) {
        bytes = []
        if capacity > 0 { bytes.reserveCapacity(capacity) }
    }

    /// The text written so far.
    public var text: String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// Removes the written bytes and keeps the capacity.
    @inlinable
    public mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    /// Appends one byte unchanged.
    @inlinable
    public mutating func raw(byte: UInt8) {
        bytes.append(byte)
    }

    /// Appends bytes unchanged.
    @inlinable
    public mutating func raw(_ source: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: source)
    }

    /// Appends bytes unchanged.
    @inlinable
    public mutating func raw(_ source: [UInt8]) {
        bytes.append(contentsOf: source)
    }

    /// Appends a constant text unchanged.
    @inlinable
    public mutating func raw(_ source: StaticString) {
        guard source.hasPointerRepresentation else { return raw(verbatim: source.description) }
        bytes.append(contentsOf: UnsafeRawBufferPointer(start: source.utf8Start, count: source.utf8CodeUnitCount))
    }

    /// Appends a string unchanged, neither quoted nor escaped.
    @inlinable
    public mutating func raw(verbatim source: String) {
        bytes.append(contentsOf: source.utf8)
    }
}

extension JSONWriter {
    /// Opens an object.
    @inlinable
    public mutating func beginObject() {
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
    }

    /// Closes the innermost object.
    @inlinable
    public mutating func endObject() {
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    /// Opens an array.
    @inlinable
    public mutating func beginArray() {
        bytes.append(UInt8(ascii: "["))
        needsComma = false
    }

    /// Closes the innermost array.
    @inlinable
    public mutating func endArray() {
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    /// Begins an element of an array: writes a comma if one is needed. The caller writes the value next.
    @inlinable
    public mutating func element() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    /// Begins a member: writes a comma if one is needed, and the name. The caller writes the value next.
    ///
    /// - Parameter name: a constant name that needs no escapes.
    @inlinable
    public mutating func member(_ name: StaticString) {
        element()
        bytes.append(UInt8(ascii: "\""))
        raw(name)
        raw("\":")
    }

    /// Begins a member: writes a comma if one is needed, and the name, escaped. The caller writes the value next.
    public mutating func member(key: String) {
        element()
        string(key)
        bytes.append(UInt8(ascii: ":"))
    }

    /// Writes a member with a string.
    public mutating func member(_ name: StaticString, _ value: String) {
        member(name)
        string(value)
    }

    /// Writes a member with a whole number.
    @inlinable
    public mutating func member(_ name: StaticString, _ value: some FixedWidthInteger) {
        member(name)
        integer(value)
    }

    /// Writes a member with `true` or `false`.
    @inlinable
    public mutating func member(_ name: StaticString, _ value: Bool) {
        member(name)
        bool(value)
    }

    /// Writes a member with a moment, in RFC 3339.
    public mutating func member(_ name: StaticString, _ value: Timestamp) {
        member(name)
        timestamp(value)
    }

    /// Writes a member with any value.
    public mutating func member(_ name: StaticString, item value: DataItem) {
        member(name)
        item(value)
    }
}

extension JSONWriter {
    /// Writes any value.
    public mutating func item(_ value: DataItem) {
        switch value {
        case .null: null()
        case .bool(let value): bool(value)
        case .number(let value): number(value)
        case .string(let value): string(value)
        case .array(let value): array(value)
        case .object(let value): object(value)
        }
    }

    /// Writes an object with its members in order (Behaviour P6).
    public mutating func object(_ value: DataObject) {
        beginObject()
        for (key, value) in value {
            member(key: key)
            item(value)
        }
        endObject()
    }

    /// Writes an array of any values.
    public mutating func array(_ values: [DataItem]) {
        beginArray()
        for value in values {
            element()
            item(value)
        }
        endArray()
    }
}

extension JSONWriter {
    /// Writes a whole number.
    @inlinable
    public mutating func integer(_ value: some FixedWidthInteger) {
        guard let magnitude = UInt64(exactly: value.magnitude) else { return raw(verbatim: String(value)) }
        decimal(magnitude, isNegative: value < 0)
    }

    /// Writes a number with its original digits.
    public mutating func number(_ value: DataNumber) {
        raw(verbatim: value.text)
    }

    /// Writes `true` or `false`.
    @inlinable
    public mutating func bool(_ value: Bool) {
        raw(value ? "true" : "false")
    }

    /// Writes `null`.
    @inlinable
    public mutating func null() {
        raw("null")
    }

    @usableFromInline
    mutating func decimal(_ magnitude: UInt64, isNegative: Bool) {
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
            var rest = magnitude
            var start = digits.count
            repeat {
                start -= 1
                digits[start] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if isNegative { bytes.append(UInt8(ascii: "-")) }
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: digits[start...]))
        }
    }
}

extension JSONWriter {
    /// Writes a string, quoted and escaped.
    public mutating func string(_ value: String) {
        let isWritten: Void? = value.utf8.withContiguousStorageIfAvailable { string(utf8: UnsafeRawBufferPointer($0)) }
        guard isWritten == nil else { return }
        // A bridged string has no contiguous UTF-8: `withUTF8` converts it to a native string first.
        var native = value
        native.withUTF8 { string(utf8: UnsafeRawBufferPointer($0)) }
    }

    /// Writes a string, quoted and escaped. The bytes must be valid UTF-8.
    public mutating func string(utf8 source: UnsafeRawBufferPointer) {
        bytes.append(.quote)
        escaped(utf8: source)
        bytes.append(.quote)
    }

    /// Writes the contents of a string: escaped, without quotes. The bytes must be valid UTF-8.
    public mutating func escaped(utf8 source: UnsafeRawBufferPointer) {
        var start = 0
        while true {
            let end = source.firstToEscape(from: start)
            if end > start { bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: source[start..<end])) }
            guard end < source.count else { return }
            escape(source[end])
            start = end + 1
        }
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case .quote: raw("\\\"")
        case .backslash: raw("\\\\")
        case 0x08: raw("\\b")
        case 0x09: raw("\\t")
        case 0x0A: raw("\\n")
        case 0x0C: raw("\\f")
        case 0x0D: raw("\\r")
        default:
            raw(byte < 0x10 ? "\\u000" : "\\u001")
            bytes.append(.hexDigit(byte & 0x0F))
        }
    }
}

extension UInt8 {
    fileprivate static let quote: UInt8 = 0x22
    fileprivate static let backslash: UInt8 = 0x5C

    fileprivate static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x61 + value - 10
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the index of the next byte that JSON requires to be escaped, or `count` if there is none.
    fileprivate func firstToEscape(from start: Int) -> Int {
        var offset = start
        while offset + 8 <= count, !hasByteToEscape(loadUnaligned(fromByteOffset: offset, as: UInt64.self)) {
            offset += 8
        }
        while offset < count, !needsEscape(self[offset]) { offset += 1 }
        return offset
    }

    private func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == .quote || byte == .backslash
    }

    /// Returns true if one of eight bytes needs an escape. A byte below 0x20, or equal to a quote or backslash, sets
    /// its top bit in one of three words (Hacker's Delight, 6-1).
    private func hasByteToEscape(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let control = (word &- ones &* 0x20) & ~word
        let quotes = word ^ (ones &* 0x22)
        let backslashes = word ^ (ones &* 0x5C)
        let isQuote = (quotes &- ones) & ~quotes
        let isBackslash = (backslashes &- ones) & ~backslashes
        return (control | isQuote | isBackslash) & (ones &* 0x80) != 0
    }
}
