/// A cache of the JSON string of a moment for all events of one millisecond.
public struct TimestampText: Sendable {
    @usableFromInline var moment: Timestamp?
    /// The string with its quotes, followed by unused bytes.
    @usableFromInline var text = SIMD32<UInt8>(repeating: UInt8(ascii: "\""))

    public init() {}

    /// The length of a moment as a JSON string, like `"2026-11-20T09:41:55.123Z"`, in bytes.
    @inlinable public static var byteCount: Int { Timestamp.length + 2 }

    @usableFromInline
    mutating func make(of new: Timestamp) {
        moment = new
        withUnsafeMutableBytes(of: &text) {
            new.write(to: UnsafeMutableRawBufferPointer(rebasing: $0[1..<TimestampText.byteCount - 1]))
        }
    }

    /// Calls `body` with the JSON string of a moment. The bytes are valid during the call only.
    @inlinable @inline(__always)
    public mutating func withText(_ new: Timestamp, _ body: (UnsafeRawBufferPointer) -> Void) {
        if moment != new { make(of: new) }
        withUnsafeBytes(of: text) { body(UnsafeRawBufferPointer(rebasing: $0[..<TimestampText.byteCount])) }
    }
}
