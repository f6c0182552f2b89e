import CCurl

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
}
