import HeadgateCore

extension Batch {
    /// The `Idempotency-Key` header's value (Behaviour K1). Ids are any text, headers are not: what is not visible ASCII
    /// is percent-encoded, and a long key is replaced by a short one that is the same for the same key.
    var idempotencyHeader: String {
        let key = PercentEncoding.header(idempotencyKey)
        guard key.utf8.count > Self.longestKey else { return key }
        return "\(events.count)-\(Self.hash(key))"
    }

    /// FNV-1a of 128 bits, in hexadecimal digits.
    private static func hash(_ key: String) -> String {
        let prime: UInt128 = 1 << 88 | 0x13B
        var hash: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D
        for byte in key.utf8 {
            hash = (hash ^ UInt128(byte)) &* prime
        }
        return String(hash, radix: 16)
    }

    private static let longestKey = 255
}
