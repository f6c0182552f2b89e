import CXXHash
import HeadgateCore

/// The format of the log's files. Any change needs a new ``version``: a file of another one is refused and left as it is
/// (Behaviour Q11).
enum LogFormat {
    /// The number in each file's header.
    static let version: UInt32 = 4

    /// The bytes that each frame begins with: a frame is read without its file's header, which may be damaged.
    static let mark: UInt32 = 0x3372_6648

    /// The first byte of ``mark``: `H`.
    static let firstByte: Int32 = 0x48

    /// Bytes that an event takes at least, packed: no two events have the same number, so that each begins a run of its own.
    static let leastRecord = 3

    /// The highest number of an event or a dead letter. No store comes to more: a number beyond is damage (Behaviour Q8), and to count
    /// on from it might leave what numbers can say.
    static let mostEvents: SequenceNumber = 1 << 62

    /// Returns the checksum of a frame's content.
    static func checksum(of bytes: UnsafeRawBufferPointer) -> UInt64 {
        XXH3_64bits(bytes.baseAddress, bytes.count)
    }
}
