import CCrypto
import CCurl
import CZstd

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

    /// Decompresses the beginning of the bytes. Returns nil if the bytes are not in this format. The input may be
    /// truncated.
    /// - Parameters:
    ///   - most: the most bytes to return.
    ///   - isBare: true for a deflate stream without a header.
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

    /// Decompresses the beginning of the bytes. Returns nil if the bytes are not in this format. The input may be
    /// truncated.
    /// - Parameter most: the most bytes to return.
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
