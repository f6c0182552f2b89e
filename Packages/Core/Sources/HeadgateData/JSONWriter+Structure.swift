extension JSONWriter {
    /// Opens an object.
    @inlinable
    public mutating func beginObject() {
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
    }

    /// Closes the object opened last.
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

    /// Closes the array opened last.
    @inlinable
    public mutating func endArray() {
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    /// Writes the comma, if one is due, before an element of an array; its value is to follow.
    @inlinable
    public mutating func element() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    /// Writes the comma, if one is due, and the name of a member; its value is to follow.
    ///
    /// The name is text of the program that needs no escapes.
    @inlinable
    public mutating func member(_ name: StaticString) {
        element()
        bytes.append(UInt8(ascii: "\""))
        raw(name)
        raw("\":")
    }

    /// Writes the comma, if one is due, and the name of a member, escaped; its value is to follow.
    public mutating func member(key: String) {
        element()
        string(key)
        bytes.append(UInt8(ascii: ":"))
    }

    /// Writes a member that is a string.
    public mutating func member(_ name: StaticString, _ value: String) {
        member(name)
        string(value)
    }

    /// Writes a member that is a whole number.
    @inlinable
    public mutating func member(_ name: StaticString, _ value: some FixedWidthInteger) {
        member(name)
        integer(value)
    }

    /// Writes a member that is `true` or `false`.
    @inlinable
    public mutating func member(_ name: StaticString, _ value: Bool) {
        member(name)
        bool(value)
    }

    /// Writes a member that is a time.
    public mutating func member(_ name: StaticString, _ value: Timestamp) {
        member(name)
        timestamp(value)
    }

    /// Writes a member that is any value.
    public mutating func member(_ name: StaticString, item value: DataItem) {
        member(name)
        item(value)
    }
}
