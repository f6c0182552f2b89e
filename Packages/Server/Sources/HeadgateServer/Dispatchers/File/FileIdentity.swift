import Glibc

/// The identity of a file, independent of its name. No other file has it as long as this one exists.
struct FileIdentity: Equatable, Sendable {
    private let device: dev_t
    private let number: ino_t
    private let kind: mode_t

    init(_ status: stat) {
        device = status.st_dev
        number = status.st_ino
        kind = status.st_mode & S_IFMT
    }

    /// Returns the identity of the file that a path leads to, or nil if there is no such file.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    var isRegular: Bool { kind == S_IFREG }
    var isPipe: Bool { kind == S_IFIFO }
}
