/// The format of a tar archive (POSIX ustar), as far as a backup needs it: small names, and the owner's modes. Pure.
enum TarArchive {
    /// The bytes of a block. Headers and files fill whole blocks.
    static let blockSize = 512

    /// The end of an archive.
    static let end = [UInt8](repeating: 0, count: 2 * blockSize)

    /// Returns the entry of a directory.
    /// - Parameter seconds: the time of the entry, since 1970.
    static func directory(_ name: String, at seconds: Int) -> [UInt8] {
        header(name + "/", size: 0, mode: 0o700, type: UInt8(ascii: "5"), at: seconds)
    }

    /// Returns the entry of a file, with its content.
    /// - Parameter seconds: the time of the entry, since 1970.
    static func file(_ name: String, _ content: [UInt8], at seconds: Int) -> [UInt8] {
        let padding = [UInt8](repeating: 0, count: -content.count & (blockSize - 1))
        return header(name, size: content.count, mode: 0o600, type: UInt8(ascii: "0"), at: seconds) + content + padding
    }

    private static func header(_ name: String, size: Int, mode: Int, type: UInt8, at seconds: Int) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: blockSize)
        func put(_ bytes: some Sequence<UInt8>, at offset: Int) {
            for (index, byte) in bytes.enumerated() { block[offset + index] = byte }
        }
        put(name.utf8.prefix(100), at: 0)
        put(octal(mode, digits: 7), at: 100)
        put(octal(0, digits: 7), at: 108)
        put(octal(0, digits: 7), at: 116)
        put(octal(size, digits: 11), at: 124)
        put(octal(seconds, digits: 11), at: 136)
        put([UInt8](repeating: UInt8(ascii: " "), count: 8), at: 148)
        block[156] = type
        put("ustar\u{0}00".utf8, at: 257)
        let sum = block.reduce(0) { $0 + Int($1) }
        put(Array(octal(sum, digits: 6)) + [0, UInt8(ascii: " ")], at: 148)
        return block
    }

    private static func octal(_ number: Int, digits: Int) -> [UInt8] {
        let text = Array(String(max(0, number), radix: 8).utf8)
        return [UInt8](repeating: UInt8(ascii: "0"), count: max(0, digits - text.count)) + text.suffix(digits)
    }
}
