/// Writes JSON text, without spaces, into a growing array of bytes.
///
/// It is meant for the hot path: bytes are copied in runs and no strings are made on the way. The caller is the one who
/// puts values, names and commas in a sensible order; `member` and `element` look after the commas.
public struct JSONWriter {
    /// What has been written so far.
    public var bytes: [UInt8]

    /// Whether a value stands before this place, so that another member or element needs a comma. One flag is
    /// enough for any depth: opening clears it, and whatever follows a closing bracket needs one again.
    @usableFromInline var needsComma = false

    /// A writer with room for so many bytes before it has to grow.
    @inlinable
    public init(capacity: Int = 0) {
        bytes = []
        if capacity > 0 { bytes.reserveCapacity(capacity) }
    }

    /// What has been written so far, as a string.
    public var text: String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// Starts again and keeps the room.
    @inlinable
    public mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    /// Appends one byte as it is.
    @inlinable
    public mutating func raw(byte: UInt8) {
        bytes.append(byte)
    }

    /// Appends bytes as they are.
    @inlinable
    public mutating func raw(_ source: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: source)
    }

    /// Appends bytes as they are.
    @inlinable
    public mutating func raw(_ source: [UInt8]) {
        bytes.append(contentsOf: source)
    }

    /// Appends text of the program as it is.
    @inlinable
    public mutating func raw(_ source: StaticString) {
        guard source.hasPointerRepresentation else { return raw(verbatim: source.description) }
        bytes.append(contentsOf: UnsafeRawBufferPointer(start: source.utf8Start, count: source.utf8CodeUnitCount))
    }

    /// Appends a string as it is, neither quoted nor escaped.
    @inlinable
    public mutating func raw(verbatim source: String) {
        bytes.append(contentsOf: source.utf8)
    }
}
