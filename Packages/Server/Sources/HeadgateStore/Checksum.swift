/// A checksum that shows whether a stored header is as it was written (Behaviour Q8).
///
/// It processes one word per step, and each step is reversible. A change of one word is therefore always detected, and
/// any other change except once in 2⁶⁴. It protects against accidents, not against attackers.
struct Checksum {
    private(set) var value: UInt64

    private static let factor: UInt64 = 0x9E37_79B9_7F4A_7C15

    init(_ seed: UInt64) {
        value = seed
    }

    mutating func add(_ word: UInt64) {
        value = (value ^ word) &* Checksum.factor
        value ^= value >> 32
    }
}
