import Glibc

/// The file that a listening socket made, known by its inode, so that nobody else's is ever removed.
struct SocketFile {
    let path: String
    private let device: dev_t
    private let inode: ino_t

    /// The file at `path`, just bound.
    init(boundAt path: String) throws(TransportError) {
        guard let status = try Self.status(of: path) else {
            throw .system(operation: "lstat", code: -ENOENT, path: path)
        }
        self.path = path
        device = status.st_dev
        inode = status.st_ino
    }

    /// Removes the file if it is still the one that was made.
    func remove() {
        guard let status = try? Self.status(of: path), status.st_dev == device, status.st_ino == inode else { return }
        unlink(path)
    }

    /// What lies at `path`; nil if there is nothing.
    static func status(of path: String) throws(TransportError) -> stat? {
        var status = stat()
        guard lstat(path, &status) != 0 else { return status }
        guard errno == ENOENT else { throw .last("lstat", path: path) }
        return nil
    }
}
