import Glibc

/// The beginning of a database file, read without SQLite: a file of a newer version is not to be touched, and SQLite
/// would open its log and write beside it.
struct DatabaseHeader {
    let applicationID: UInt32
    let userVersion: UInt32

    private static let size = 100
    private static let magic = Array("SQLite format 3\0".utf8)

    /// Nil where there is no such file, or no database.
    init?(path: String) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: DatabaseHeader.size)
        guard pread(file, &bytes, bytes.count, 0) == bytes.count, bytes.starts(with: DatabaseHeader.magic) else {
            return nil
        }
        userVersion = DatabaseHeader.bigEndian(bytes[60..<64])
        applicationID = DatabaseHeader.bigEndian(bytes[68..<72])
    }

    private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }
}
