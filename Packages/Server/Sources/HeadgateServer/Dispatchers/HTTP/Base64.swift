import CCrypto

/// The base64 encoding with padding (RFC 4648, 4), by OpenSSL.
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String {
        // OpenSSL ends the text with a NUL.
        String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { text in
            Int(EVP_EncodeBlock(text.baseAddress, bytes, Int32(bytes.count)))
        }
    }

    /// The bytes of an encoded text; nil when it is none.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let encoded = Array(text.utf8)
        let padding = encoded.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        // OpenSSL takes padding anywhere, for zeros, and leaves them in what it decodes.
        guard padding <= 2, !encoded.dropLast(padding).contains(UInt8(ascii: "=")) else { return nil }
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: encoded.count) { buffer, initialized in
            count = Int(EVP_DecodeBlock(buffer.baseAddress, encoded, Int32(encoded.count)))
            initialized = max(0, count - padding)
        }
        return count < 0 ? nil : bytes
    }
}
