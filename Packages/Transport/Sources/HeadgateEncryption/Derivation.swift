import CCipher

/// HKDF with SHA-256 (RFC 5869): the derivation of one key from another.
enum Derivation {
    /// Returns derived bytes, 8 160 of them at most.
    static func derive(_ count: Int, from key: [UInt8], salt: [UInt8], info: [UInt8]) -> [UInt8] {
        let secret = authenticate(key, under: salt)
        var (derived, last, round) = ([UInt8](), [UInt8](), UInt8(0))
        while derived.count < count {
            round += 1
            last = authenticate(last + info + [round], under: secret)
            derived += last
        }
        return Array(derived.prefix(count))
    }

    /// The bytes of SHA-256.
    private static let size = 32

    /// Returns HMAC-SHA-256 of some bytes.
    private static func authenticate(_ bytes: [UInt8], under key: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: size) { code, count in
            let isDone = ccipher_hmac_sha256(key, key.count, bytes, bytes.count, code.baseAddress)
            precondition(isDone == 1, "OpenSSL has no HMAC with SHA-256")
            count = size
        }
    }
}
