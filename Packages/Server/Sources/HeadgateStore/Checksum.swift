/// A checksum that shows whether stored bytes are as they were written (Behaviour Q8).
///
/// It takes eight bytes a step, and each step is reversible: a change within eight bytes is always detected, and any
/// other but once in 2⁶⁴. It protects against accidents, not against attackers.
struct Checksum {
    private(set) var value: UInt64

    private static let factor: UInt64 = 0x9E37_79B9_7F4A_7C15

    init(_ seed: UInt64) {
        value = seed
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        add(UInt64(bytes.count))
        let whole = bytes.count & ~7
        for offset in stride(from: 0, to: whole, by: 8) {
            add(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
        }
        add(bytes[whole...].reduce(0) { $0 << 8 | UInt64($1) })
    }

    mutating func add(_ word: UInt64) {
        value = (value ^ word) &* Checksum.factor
        value ^= value >> 32
    }
}
