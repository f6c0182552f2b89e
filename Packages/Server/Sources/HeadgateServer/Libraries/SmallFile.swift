import Glibc

/// A small file, like a secret, that is read as a whole without blocking.
struct SmallFile {
    private let path: String

    init(_ path: String) {
        self.path = path
    }

    /// Returns the contents. Returns nil if the file cannot be read, is longer than `limit`, or is not regular (which
    /// could block).
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

    /// Returns the next bytes, or none at the end or after an error.
    private static func readPiece(_ descriptor: Int32, upTo most: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: most) { buffer, filled in
            filled = max(0, Glibc.read(descriptor, buffer.baseAddress, most))
        }
    }

    private static let longestPiece = 16 * 1024
}
