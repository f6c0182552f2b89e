import Glibc

/// Keeps two processes that start at once from both finding the same socket file left over, where the second would
/// remove the first one's. The lock is on the directory itself, so it leaves nothing behind.
struct DirectoryLock: ~Copyable {
    private let directory: Descriptor

    /// Waits a little for the lock: who holds it for longer is no starting process.
    init(_ path: String) throws(TransportError) {
        let number = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { throw .last("open", path: path) }
        let directory = Descriptor(number)
        guard Self.take(directory) else { throw .last("flock", path: path) }
        self.directory = directory
    }

    private static func take(_ directory: borrowing Descriptor) -> Bool {
        for _ in 0..<attempts {
            if flock(directory.number, LOCK_EX | LOCK_NB) == 0 { return true }
            guard errno == EWOULDBLOCK || errno == EINTR else { return false }
            usleep(napInMicroseconds)
        }
        errno = EWOULDBLOCK
        return false
    }

    /// Gives the lock back now, as the end of its life would.
    consuming func release() {}

    private static let attempts = 500
    private static let napInMicroseconds: UInt32 = 2000
}
