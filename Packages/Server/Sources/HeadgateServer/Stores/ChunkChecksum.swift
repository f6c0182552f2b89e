import HeadgateCore

/// A number that tells whether a stored group is as it was written (Behaviour Q8).
///
/// Eight bytes a step, each step reversible: a change within eight bytes is always seen, any other but once in 2⁶⁴. It
/// guards against accidents, not against people.
struct ChunkChecksum {
    private var state: UInt64

    private static let factor: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// The checksum of a row: its place, what it says it holds, and what it holds.
    static func of(
        _ lastSequenceNumber: SequenceNumber, tallies: UnsafeRawBufferPointer, records: UnsafeRawBufferPointer
    ) -> Int64 {
        var checksum = ChunkChecksum(state: UInt64(bitPattern: lastSequenceNumber))
        checksum.add(tallies)
        checksum.add(records)
        return Int64(bitPattern: checksum.state)
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) {
        mix(UInt64(bytes.count))
        let whole = bytes.count & ~7
        for offset in stride(from: 0, to: whole, by: 8) {
            mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
        }
        mix(bytes[whole...].reduce(0) { $0 << 8 | UInt64($1) })
    }

    private mutating func mix(_ word: UInt64) {
        state = (state ^ word) &* ChunkChecksum.factor
        state ^= state >> 32
    }
}
