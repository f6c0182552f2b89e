/// A moment as a JSON string, made once for all that happens in one millisecond.
public struct TimestampText: Sendable {
    @usableFromInline var moment: Timestamp?
    /// The text and its quotes, and some bytes that mean nothing.
    @usableFromInline var text = SIMD32<UInt8>(repeating: UInt8(ascii: "\""))

    public init() {}

    /// Bytes of a moment as a JSON string, like `"2026-11-20T09:41:55.123Z"`.
    @inlinable public static var byteCount: Int { Timestamp.length + 2 }

    @usableFromInline
    mutating func make(of new: Timestamp) {
        moment = new
        withUnsafeMutableBytes(of: &text) {
            new.write(to: UnsafeMutableRawBufferPointer(rebasing: $0[1..<TimestampText.byteCount - 1]))
        }
    }

    /// Lends the bytes of a moment.
    @inlinable @inline(__always)
    public mutating func lend(_ new: Timestamp, _ body: (UnsafeRawBufferPointer) -> Void) {
        if moment != new { make(of: new) }
        withUnsafeBytes(of: text) { body(UnsafeRawBufferPointer(rebasing: $0[..<TimestampText.byteCount])) }
    }
}
