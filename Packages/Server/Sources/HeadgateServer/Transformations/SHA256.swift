import CCrypto

/// SHA-256, by OpenSSL.
enum SHA256 {
    /// The digest in lower-case hexadecimal digits.
    static func digits(of bytes: [UInt8]) -> String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(SHA256_DIGEST_LENGTH)) { digest in
            _ = CCrypto.SHA256(bytes, bytes.count, digest.baseAddress)
            return String(decoding: digest.flatMap { [digit($0 >> 4), digit($0 & 15)] }, as: UTF8.self)
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
