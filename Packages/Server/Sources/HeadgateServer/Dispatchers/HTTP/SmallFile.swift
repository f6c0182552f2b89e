import Glibc

/// A file that is read whole and at once: a secret, for instance.
struct SmallFile {
    private let path: String

    init(_ path: String) {
        self.path = path
    }

    /// What is in it; nil if it cannot be read, is no regular file (which could block) or is longer than `limit`.
    func contents(upTo limit: Int) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let bytes = Self.read(descriptor, upTo: limit + 1)
        return bytes.count <= limit ? bytes : nil
    }

    private static func read(_ descriptor: Int32, upTo most: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < most {
            let piece = readPiece(descriptor, upTo: min(most - bytes.count, longestPiece))
            if piece.isEmpty { break }
            bytes += piece
        }
        return bytes
    }

    /// Nothing at the end, or when it cannot be read on.
    private static func readPiece(_ descriptor: Int32, upTo most: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: most) { buffer, filled in
            filled = max(0, Glibc.read(descriptor, buffer.baseAddress, most))
        }
    }

    private static let longestPiece = 16 * 1024
}
