import CLZ4
import HeadgateData

/// A piece of a frame, packed if that saves bytes: events resemble each other, and a disk is faster with fewer bytes.
///
/// LZ4 packs bytes faster than the page cache copies them. Slower algorithms would save more bytes, and no time.
struct LogPiece {
    /// The number of unpacked bytes.
    let size: Int
    private let stored: UnsafeRawBufferPointer

    /// The acceleration of LZ4. At 8, LZ4 takes half the time for bytes that hardly shrink. For other bytes it takes a
    /// quarter less time, and their packed size is a tenth larger.
    fileprivate static let acceleration: Int32 = 8
    /// The most bytes that LZ4 compresses at once.
    fileprivate static let mostPacked = 0x7E00_0000
    /// The most unpacked bytes that one packed byte can represent.
    private static let mostFromByte = 255

    fileprivate init(size: Int, stored: UnsafeRawBufferPointer) {
        (self.size, self.stored) = (size, stored)
    }

    var isPacked: Bool { stored.count != size }

    /// Appends the unpacked bytes.
    /// - Returns: false if the packed bytes are not sound. Then nothing is appended.
    func append(to bytes: inout [UInt8]) -> Bool {
        guard isPacked else {
            bytes.append(contentsOf: stored)
            return true
        }
        // A damaged size must not allocate memory.
        guard size <= stored.count * LogPiece.mostFromByte, let count = Int32(exactly: stored.count),
            let most = Int32(exactly: size)
        else { return false }
        var isSound = false
        bytes.append(addingCapacity: size) { span in
            span.withUnsafeMutableBufferPointer { room, encoded in
                let target = UnsafeMutableRawBufferPointer(room).bindMemory(to: CChar.self).baseAddress
                isSound = LZ4_decompress_safe(stored.chars, target, count, most) == most
                encoded = isSound ? size : 0
            }
        }
        return isSound
    }

    /// Reads the value that the bytes begin with.
    func read<Value: LogCodable>() throws(LogReader.Unsound) -> Value {
        guard isPacked else { return try LogReader.value(in: stored) }
        var bytes: [UInt8] = []
        guard append(to: &bytes) else { throw LogReader.Unsound() }
        return try bytes.withRawBytes { (bytes) throws(LogReader.Unsound) in try LogReader.value(in: bytes) }
    }
}

extension LogWriter {
    /// Adds a piece: its unpacked size, its size, and its bytes.
    /// - Parameter least: the bytes from which on a piece is packed, if that saves an eighth.
    mutating func put(_ piece: [UInt8], packedFrom least: Int) {
        put(UInt32(piece.count))
        let start = bytes.count
        put(UInt32(piece.count))
        guard piece.count >= least, pack(piece) else { return putRest(piece) }
        let packed = bytes.count - start - 4
        withBytes { LittleEndian.store(UInt32(packed), in: $0, at: start) }
    }

    /// - Returns: false if packing saves too little. Then nothing is added.
    private mutating func pack(_ piece: [UInt8]) -> Bool {
        let (start, most) = (bytes.count, piece.count - max(1, piece.count / 8))
        guard piece.count <= LogPiece.mostPacked else { return false }
        put(most: most) { room in
            let target = room.bindMemory(to: CChar.self).baseAddress
            return piece.withRawBytes { bytes in
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
