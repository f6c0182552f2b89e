import Glibc

/// What a database file says of itself.
struct DatabaseHeader {
    var applicationID: UInt32
    var userVersion: UInt32

    /// Whether a newer version wrote the file, so that it must not be touched.
    var isNewer: Bool {
        applicationID == StoreSchema.applicationID && userVersion > StoreSchema.version
    }

    /// Whether the file is an event store of this version, or of one that can be made this.
    var isOurs: Bool {
        applicationID == StoreSchema.applicationID && (userVersion == StoreSchema.version || upgrade != nil)
    }

    /// What makes the file one of this version; nil when it is one already, or none that can be.
    var upgrade: String? { StoreSchema.upgrade(from: userVersion) }
}

extension DatabaseHeader {
    private static let size = 100
    private static let magic = Array("SQLite format 3\0".utf8)

    /// Reads the beginning of a file without SQLite, which would open its log and write beside it. Nil where there is
    /// no such file, or no database.
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
