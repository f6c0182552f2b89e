import Glibc

/// The identity of a file, independent of its name. No other file has it as long as this one exists.
package struct FileIdentity: Equatable, Sendable {
    private let device: dev_t
    private let number: ino_t
    private let kind: mode_t

    package init(_ status: stat) {
        device = status.st_dev
        number = status.st_ino
        kind = status.st_mode & S_IFMT
    }

    /// The file that a path leads to; nil when it leads nowhere.
    package init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    package var isRegular: Bool { kind == S_IFREG }
    package var isPipe: Bool { kind == S_IFIFO }
}
