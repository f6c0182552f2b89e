import Foundation

/// A directory that goes with its owner. It lies directly in `/tmp`, since a socket's path must be short.
final class TemporaryDirectory {
    let path: String

    init() throws {
        path = "/tmp/headgate-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of an entry.
    func entry(_ name: String) -> String {
        "\(path)/\(name)"
    }
}

/// The permission bits of a file.
func mode(of path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}
