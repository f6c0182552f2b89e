import CXXHash
import HeadgateCore

/// The format of the log's files. Any change needs a new ``version``: a file of another one is refused and left as it is
/// (Behaviour Q11).
enum LogFormat {
    /// The number in each file's header.
    static let version: UInt32 = 5

    /// The number in the header of an encrypted file (Behaviour C1).
    static let sealedVersion = 100 + version

    /// The first bytes of each frame. A frame can be read without its file's header, which may be damaged.
    static let mark: UInt32 = 0x3372_6648

    /// The first bytes of each encrypted frame.
    static let sealedMark: UInt32 = 0x3165_6648

    /// The first byte of both marks: `H`.
    static let firstByte: Int32 = 0x48

    /// The bytes that a packed event takes, at least. No two events have the same number, so that each begins a run of
    /// its own.
    static let leastRecord = 3

    /// The highest number of an event or a dead letter. A higher number is damage (Behaviour Q8): counting on from it
    /// could overflow.
    static let mostEvents: SequenceNumber = 1 << 62

    /// Returns the checksum of a frame's content.
    static func checksum(of bytes: UnsafeRawBufferPointer) -> UInt64 {
        XXH3_64bits(bytes.baseAddress, bytes.count)
    }
}
