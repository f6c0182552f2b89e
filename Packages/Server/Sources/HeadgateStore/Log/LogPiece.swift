import CLZ4
import HeadgateData

/// Bytes as they lie in a frame, packed where that saves something: events say much the same, and what a disk is asked for is bytes.
///
/// By LZ4, which packs quicker than a page cache copies. Where others would pack them smaller, the disk is not what is waited for any more.
struct LogPiece {
    /// How many bytes they are.
    let size: Int
    private let stored: UnsafeRawBufferPointer

    /// How much LZ4 hurries: with 8 it takes half the time for what can hardly be packed, and a quarter less for the rest, which gets a tenth
    /// larger.
    fileprivate static let acceleration: Int32 = 8
    /// LZ4 packs no more at once.
    fileprivate static let mostPacked = 0x7E00_0000
    /// One byte of what is packed stands for so many at most.
    private static let mostFromByte = 255

    /// Bytes that lie there as they are.
    init(_ bytes: UnsafeRawBufferPointer) {
        (size, stored) = (bytes.count, bytes)
    }

    fileprivate init(size: Int, stored: UnsafeRawBufferPointer) {
        (self.size, self.stored) = (size, stored)
    }

    var isPacked: Bool { stored.count != size }

    /// Appends the bytes.
    /// - Returns: false where they are not what was packed; then nothing is appended.
    func append(to bytes: inout [UInt8]) -> Bool {
        guard isPacked else {
            bytes.append(contentsOf: stored)
            return true
        }
        // What is a lie takes no memory.
        guard size <= stored.count * LogPiece.mostFromByte, let count = Int32(exactly: stored.count),
            let most = Int32(exactly: size)
        else { return false }
        var isSound = false
        bytes.append(addingCapacity: size) { span in
            span.withUnsafeMutableBufferPointer { room, laid in
                let target = UnsafeMutableRawBufferPointer(room).bindMemory(to: CChar.self).baseAddress
                isSound = LZ4_decompress_safe(stored.chars, target, count, most) == most
                laid = isSound ? size : 0
            }
        }
        return isSound
    }

    /// Reads the bytes.
    func read<Value>(
        _ body: (inout LogReader) throws(LogReader.Unsound) -> Value
    ) throws(LogReader.Unsound) -> Value {
        guard isPacked else {
            var reader = LogReader(stored)
            return try body(&reader)
        }
        var bytes: [UInt8] = []
        guard append(to: &bytes) else { throw LogReader.Unsound() }
        return try bytes.lend { (bytes) throws(LogReader.Unsound) in
            var reader = LogReader(bytes)
            return try body(&reader)
        }
    }
}

extension LogWriter {
    /// Lays a piece: how many bytes it is, how many it takes, and these.
    /// - Parameter least: it is packed where it is so many bytes, and that saves an eighth.
    mutating func put(_ piece: [UInt8], packedFrom least: Int) {
        put(UInt32(piece.count))
        let start = bytes.count
        put(UInt32(piece.count))
        guard piece.count >= least, pack(piece) else { return putRest(piece) }
        let packed = bytes.count - start - 4
        withBytes { LittleEndian.store(UInt32(packed), in: $0, at: start) }
    }

    /// - Returns: false where that saves too little; then nothing is laid.
    private mutating func pack(_ piece: [UInt8]) -> Bool {
        let (start, most) = (bytes.count, piece.count - max(1, piece.count / 8))
        guard piece.count <= LogPiece.mostPacked else { return false }
        put(most: most) { room in
            let target = room.bindMemory(to: CChar.self).baseAddress
            return piece.lend { bytes in
                Int(LZ4_compress_fast(bytes.chars, target, Int32(bytes.count), Int32(most), LogPiece.acceleration))
            }
        }
        return bytes.count > start
    }
}

extension LogReader {
    mutating func takePackedPiece() throws(Unsound) -> LogPiece {
        LogPiece(size: Int(try take(UInt32.self)), stored: try takePiece())
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var chars: UnsafePointer<CChar>? { bindMemory(to: CChar.self).baseAddress }
}
