import CCrypto
import CCurl
import CZstd

/// Percent-encoding: text in which `%` and two hexadecimal digits replace some bytes (RFC 3986, 2.1).
enum PercentEncoding {
    /// Encodes a value for a URL's query. Only characters without a meaning in URLs remain.
    static func query(_ bytes: [UInt8]) -> String {
        stride(from: 0, to: bytes.count, by: mostAtOnce).map { start in
            piece(bytes[start..<min(start + mostAtOnce, bytes.count)])
        }.joined()
    }

    /// The most bytes that libcurl gets at once. It refuses a text of more than 8 MB, which an event may have.
    private static let mostAtOnce = 1 << 20

    /// Encodes some bytes, at least one: libcurl reads a length of 0 as a text that ends with a NUL.
    private static func piece(_ bytes: ArraySlice<UInt8>) -> String {
        let encoded = bytes.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { curl_easy_escape(nil, $0.baseAddress, Int32($0.count)) }
        }
        // libcurl returns nil for a short text only if there is no memory, and then Swift could not go on either.
        defer { curl_free(encoded) }
        return String(cString: encoded!)
    }

    /// Encodes a value for a header. All visible ASCII except `%` remains, most of which libcurl would encode.
    static func header(_ text: String) -> String {
        // Nearly all values need no encoding.
        if text.utf8.allSatisfy(isKept) { return text }
        return text.utf8.map { isKept($0) ? String(UnicodeScalar($0)) : query([$0]) }.joined()
    }

    private static func isKept(_ byte: UInt8) -> Bool { 0x21...0x7E ~= byte && byte != UInt8(ascii: "%") }

    /// Returns the decoded text. A `%` without two hexadecimal digits behind it remains.
    static func decode(_ text: some StringProtocol) -> String {
        guard !text.isEmpty else { return "" }
        var count: Int32 = 0
        let decoded = String(text).withCString { curl_easy_unescape(nil, $0, Int32(text.utf8.count), &count) }
        defer { curl_free(decoded) }
        // Nil only if there is no memory, as above.
        return String(decoding: UnsafeRawBufferPointer(start: decoded!, count: Int(count)), as: UTF8.self)
    }
}

/// The base64 encoding with padding (RFC 4648, 4), by OpenSSL.
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String {
        // OpenSSL ends the text with a NUL.
        String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { text in
            Int(EVP_EncodeBlock(text.baseAddress, bytes, Int32(bytes.count)))
        }
    }

    /// Returns the decoded bytes, or nil if the text is no base64.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let encoded = Array(text.utf8)
        let padding = encoded.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        // OpenSSL accepts padding anywhere, decodes it as zeros, and keeps those in the output.
        guard padding <= 2, !encoded.dropLast(padding).contains(UInt8(ascii: "=")) else { return nil }
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: encoded.count) { buffer, initialized in
            count = Int(EVP_DecodeBlock(buffer.baseAddress, encoded, Int32(encoded.count)))
            initialized = max(0, count - padding)
        }
        return count < 0 ? nil : bytes
    }
}

/// The gzip format (RFC 1952).
enum Gzip {
    /// Returns the compressed bytes, or nil if there are more than 4 GiB or there is no memory.
    static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        let room = cgzip_bound(bytes.count)
        let compressed = [UInt8](unsafeUninitializedCapacity: room) { output, written in
            written = bytes.withUnsafeBytes { cgzip_compress($0.baseAddress, $0.count, output.baseAddress, room) }
        }
        return compressed.isEmpty ? nil : compressed
    }

    /// Returns the first bytes, decompressed, or nil if the bytes are not in this format. The input may be cut short.
    /// - Parameter isBare: true for a deflate stream without a header.
    static func beginning(of bytes: [UInt8], most: Int, isBare: Bool = false) -> [UInt8]? {
        let plain = [UInt8](unsafeUninitializedCapacity: most) { output, written in
            written = bytes.withUnsafeBytes {
                cgzip_decompress($0.baseAddress, $0.count, output.baseAddress, most, isBare ? 1 : 0)
            }
        }
        return plain.isEmpty ? nil : plain
    }
}

/// The Zstandard format (RFC 8878).
enum Zstandard {
    /// The compression level: the fastest of the usual ones, because compression takes processor time from the other
    /// threads.
    private static let level: Int32 = 1

    /// Returns the compressed bytes, or nil if there is no memory.
    static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        let room = ZSTD_compressBound(bytes.count)
        let compressed = [UInt8](unsafeUninitializedCapacity: room) { output, written in
            let result = ZSTD_compress(output.baseAddress, room, bytes, bytes.count, level)
            written = ZSTD_isError(result) == 0 ? result : 0
        }
        return compressed.isEmpty ? nil : compressed
    }

    /// Returns the first bytes, decompressed, or nil if the bytes are not in this format. The input may be cut short.
    static func beginning(of bytes: [UInt8], most: Int) -> [UInt8]? {
        guard let stream = ZSTD_createDStream() else { return nil }
        defer { ZSTD_freeDStream(stream) }
        let plain = [UInt8](unsafeUninitializedCapacity: most) { output, written in
            bytes.withUnsafeBytes { input in
                var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
                var target = ZSTD_outBuffer(dst: output.baseAddress, size: most, pos: 0)
                // Each call decompresses at least to the end of a block.
                while source.pos < source.size, target.pos < target.size {
                    let before = (source.pos, target.pos)
                    let code = ZSTD_decompressStream(stream, &target, &source)
                    if ZSTD_isError(code) != 0 || before == (source.pos, target.pos) { break }
                }
                written = target.pos
            }
        }
        return plain.isEmpty ? nil : plain
    }
}

/// The OpenSSL library, which the whole process shares.
enum OpenSSL {
    /// Keeps OpenSSL from cleaning up at the process's exit, when threads of librdkafka and libnats may still be in a
    /// handshake. The first code that uses OpenSSL must read this property before.
    static let skipsExitCleanup: Void = {
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }()
}

/// SHA-256, by OpenSSL.
enum SHA256 {
    /// Returns the digest in lower-case hexadecimal digits.
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
