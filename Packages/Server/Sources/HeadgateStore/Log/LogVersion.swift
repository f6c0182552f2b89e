import CXXHash

/// How a file of the log is written. It stays as it was begun: what comes behind is written in the same way, and the next file in the newest.
enum LogVersion: UInt32, CaseIterable {
    /// What frames hold is summed up word by word (``Checksum``).
    case words = 1
    /// What frames hold is summed up by XXH3, which takes a quarter of the time.
    case xxh3 = 2
    /// Groups and ids lie in pieces that may be packed (``LogPiece``).
    case packed = 3

    static let newest = LogVersion.packed

    /// As what groups are written.
    var group: LogFrame.Kind { self == .packed ? .packed : .group }

    /// As what ids of clients are written.
    var ids: LogFrame.Kind { self == .packed ? .packedIDs : .ids }

    /// Bytes that an event takes at least. A packed one takes three: no two have the same number, so that each begins a run of its own.
    var leastRecord: Int { self == .packed ? 3 : 48 }

    /// What a frame begins with: it is read without its file's header, which may be damaged.
    var mark: UInt32 {
        switch self {
        case .words: 0x6D72_6648
        case .xxh3: 0x3272_6648
        case .packed: 0x3372_6648
        }
    }

    /// What the mark of each version begins with: `H`.
    static let firstByte: Int32 = 0x48

    init?(mark: UInt32) {
        switch mark {
        case LogVersion.packed.mark: self = .packed
        case LogVersion.xxh3.mark: self = .xxh3
        case LogVersion.words.mark: self = .words
        default: return nil
        }
    }

    /// The checksum of what a frame holds.
    func checksum(of bytes: UnsafeRawBufferPointer) -> UInt64 {
        switch self {
        case .words:
            var sum = Checksum(0)
            sum.add(bytes)
            return sum.value
        case .xxh3, .packed: return XXH3_64bits(bytes.baseAddress, bytes.count)
        }
    }
}
