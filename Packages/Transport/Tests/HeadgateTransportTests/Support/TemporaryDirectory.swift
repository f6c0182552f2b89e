import Foundation

/// A directory that is removed with its owner. It is created directly in `/tmp`, because the path of a socket must be
/// short.
final class TemporaryDirectory {
    let path: String

    init() throws {
        path = "/tmp/headgate-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Returns the path of an entry in the directory.
    func entry(_ name: String) -> String {
        "\(path)/\(name)"
    }
}

/// Returns the permission bits of a file, or nil if there is no such file.
func mode(of path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}
