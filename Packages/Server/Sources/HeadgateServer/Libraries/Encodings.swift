import CCrypto
import CCurl
import CZstd

/// Text in which some bytes stand as `%` and two hexadecimal digits (RFC 3986, 2.1).
enum PercentEncoding {
    /// For a value in a URL's query: only what has no meaning in any URL stays.
    static func query(_ bytes: [UInt8]) -> String {
        // libcurl takes a length of 0 for a text that ends with a NUL.
        guard !bytes.isEmpty else { return "" }
        let encoded = bytes.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { curl_easy_escape(nil, $0.baseAddress, Int32($0.count)) }
        }
        // Nil only when there is no memory, with which Swift cannot go on either.
        defer { curl_free(encoded) }
        return String(cString: encoded!)
    }

    /// For a header's value: all visible ASCII stays, of which libcurl would encode the better part.
    static func header(_ text: String) -> String {
        // Nearly always that is all.
        if text.utf8.allSatisfy(isKept) { return text }
        return text.utf8.map { isKept($0) ? String(UnicodeScalar($0)) : query([$0]) }.joined()
    }

    private static func isKept(_ byte: UInt8) -> Bool { 0x21...0x7E ~= byte && byte != UInt8(ascii: "%") }

    /// The text that was encoded; a `%` that no two digits follow stays.
    static func decode(_ text: some StringProtocol) -> String {
        guard !text.isEmpty else { return "" }
        var count: Int32 = 0
        let decoded = String(text).withCString { curl_easy_unescape(nil, $0, Int32(text.utf8.count), &count) }
        defer { curl_free(decoded) }
        // Nil only when there is no memory, as above.
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

/// The gzip format (RFC 1952).
enum Gzip {
    /// The bytes, compressed; nil when there are too many for one go (4 GiB) or no memory.
    static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        let room = cgzip_bound(bytes.count)
        let compressed = [UInt8](unsafeUninitializedCapacity: room) { output, written in
            written = bytes.withUnsafeBytes { cgzip_compress($0.baseAddress, $0.count, output.baseAddress, room) }
        }
        return compressed.isEmpty ? nil : compressed
    }

    /// Returns the first bytes, decompressed; nil if these are not in the format. They may be cut short.
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
    /// The fastest of the usual levels, as for gzip: on a small machine a thread that compresses takes from all others.
    private static let level: Int32 = 1

    /// The bytes, compressed; nil when there was no memory.
    static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        let room = ZSTD_compressBound(bytes.count)
        let compressed = [UInt8](unsafeUninitializedCapacity: room) { output, written in
            let result = ZSTD_compress(output.baseAddress, room, bytes, bytes.count, level)
            written = ZSTD_isError(result) == 0 ? result : 0
        }
        return compressed.isEmpty ? nil : compressed
    }

    /// Returns the first bytes, decompressed; nil if these are not in the format. They may be cut short.
    static func beginning(of bytes: [UInt8], most: Int) -> [UInt8]? {
        guard let stream = ZSTD_createDStream() else { return nil }
        defer { ZSTD_freeDStream(stream) }
        let plain = [UInt8](unsafeUninitializedCapacity: most) { output, written in
            bytes.withUnsafeBytes { input in
                var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
                var target = ZSTD_outBuffer(dst: output.baseAddress, size: most, pos: 0)
                // Each call goes on to the end of a block at least.
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

/// OpenSSL as a whole, of which a process has one.
enum OpenSSL {
    /// Keeps it from being cleaned away when the process ends, once: threads of librdkafka and libnats, for which nobody
    /// waits, may be in the middle of a handshake then. What is first to use OpenSSL has to say so.
    static let staysToTheEnd: Void = {
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }()
}

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
