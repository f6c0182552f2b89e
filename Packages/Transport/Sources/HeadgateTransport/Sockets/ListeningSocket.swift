import Glibc

/// A listening socket with the file that it created, if any.
struct ListeningSocket: ~Copyable {
    let descriptor: Descriptor
    let file: SocketFile?

    /// Takes ownership of a descriptor that was passed to the process. Its file belongs to its creator.
    init(inherited number: Int32) throws(TransportError) {
        let descriptor = Descriptor(number)
        let isListening =
            descriptor.option(SO_DOMAIN) == AF_UNIX && descriptor.option(SO_TYPE) == Int32(SOCK_STREAM.rawValue)
            && descriptor.option(SO_ACCEPTCONN) == 1
        guard isListening else { throw .notListening(fileDescriptor: number) }
        try descriptor.prepareForLoop()
        self.descriptor = descriptor
        file = nil
    }

    /// Binds and listens. Creates a missing directory (mode 0750), and replaces a stale socket file that no process
    /// answers on. The file has mode 0660 from the start (Behaviour X1).
    /// - Parameter waiting: true to wait a moment for another process that is starting on the same socket.
    init(at address: UnixAddress, backlog: Int32, waiting: Bool = true) throws(TransportError) {
        try Self.makeDirectory(address.directory)
        let descriptor = try Descriptor.unixStream()
        let lock = try SocketLock(address.path + ".lock", waiting: waiting)
        try Self.clear(address)
        try Self.bind(descriptor, to: address)
        let file = try SocketFile(boundAt: address.path)
        do throws(TransportError) {
            try Self.setMode(Self.socketMode, of: address.path)
            guard listen(descriptor.number, backlog) == 0 else { throw .last("listen", path: address.path) }
        } catch {
            file.remove()
            throw error
        }
        lock.release()
        self.descriptor = descriptor
        self.file = file
    }

    private static func makeDirectory(_ path: String) throws(TransportError) {
        var status = stat()
        guard stat(path, &status) != 0 else { return }
        guard errno == ENOENT else { throw .last("stat", path: path) }
        let above = path.lastIndex(of: "/").map { path[..<$0] } ?? ""
        if !above.isEmpty { try makeDirectory(String(above)) }
        guard mkdir(path, 0o750) != 0 else { return try setMode(0o750, of: path) }
        if errno != EEXIST { throw .noDirectory(path: path, code: -errno) }
    }

    /// Removes a socket file that no process answers on. Any other file is an error.
    private static func clear(_ address: UnixAddress) throws(TransportError) {
        guard let status = try SocketFile.status(of: address.path) else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket(path: address.path) }
        guard try !isAnswered(address) else { throw .inUse(path: address.path) }
        guard unlink(address.path) == 0 || errno == ENOENT else { throw .last("unlink", path: address.path) }
    }

    private static func isAnswered(_ address: UnixAddress) throws(TransportError) -> Bool {
        let probe = try Descriptor.unixStream()
        guard address.connect(probe) != 0 else { return true }
        switch errno {
        case ECONNREFUSED, ENOENT: return false
        // The backlog is full, or the socket has another type. In both cases a process has the socket open.
        case EAGAIN, EPROTOTYPE: return true
        default: throw .last("connect", path: address.path)
        }
    }

    private static func bind(_ descriptor: borrowing Descriptor, to address: UnixAddress) throws(TransportError) {
        let number = descriptor.number
        // bind creates the file with at most the mode of the socket itself.
        guard fchmod(number, socketMode) == 0 else { throw .last("fchmod") }
        guard address.withSystemAddress({ Glibc.bind(number, $0, $1) }) != 0 else { return }
        guard errno != EADDRINUSE else { throw .inUse(path: address.path) }
        throw .last("bind", path: address.path)
    }

    // The mode is set again because the umask may have removed permissions. The umask cannot be read without changing
    // it for other threads. The file may have been replaced by a symbolic link, which is not followed.
    private static func setMode(_ mode: mode_t, of path: String) throws(TransportError) {
        guard fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW) != 0 else { return }
        throw .last("chmod", path: path)
    }

    private static let socketMode: mode_t = 0o660
}

/// The file of a listening socket, identified by its inode, so that no other file is ever removed.
struct SocketFile {
    let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Records the file at `path`, which has just been bound.
    init(boundAt path: String) throws(TransportError) {
        guard let status = try Self.status(of: path) else {
            throw .system(operation: "lstat", code: -ENOENT, path: path)
        }
        self.path = path
        device = status.st_dev
        inode = status.st_ino
    }

    /// Removes the file if it is still the recorded one.
    func remove() {
        if isInPlace { unlink(path) }
    }

    /// True if the path still names the recorded file.
    var isInPlace: Bool {
        guard let status = try? Self.status(of: path) else { return false }
        return status.st_dev == device && status.st_ino == inode
    }

    /// Returns the status of the file at `path`, or nil if there is none.
    static func status(of path: String) throws(TransportError) -> stat? {
        var status = stat()
        guard lstat(path, &status) != 0 else { return status }
        guard errno == ENOENT else { throw .last("lstat", path: path) }
        return nil
    }
}

/// A lock for replacing a stale socket file. Without it, two processes that start at the same time could both find the
/// file stale. The second process would then remove the first one's socket.
///
/// The lock is on a file beside the socket that only this user can open. A lock on the directory could be held by every
/// user who can read the directory, and the daemon would not start (Behaviour X8). The file stays: if it were removed,
/// two processes could hold locks on two files of one name.
private struct SocketLock: ~Copyable {
    private let file: Descriptor

    /// Takes the lock. With `waiting` it waits a moment for another process that is starting.
    init(_ path: String, waiting: Bool) throws(TransportError) {
        let number = OwnFile.open(path)
        guard number >= 0 else { throw .last("open", path: path) }
        let file = Descriptor(number)
        guard Self.take(file, attempts: waiting ? Self.attempts : 1) else { throw .last("flock", path: path) }
        self.file = consume file
    }

    private static func take(_ file: borrowing Descriptor, attempts: Int) -> Bool {
        for _ in 0..<attempts {
            if flock(file.number, LOCK_EX | LOCK_NB) == 0 { return true }
            guard errno == EWOULDBLOCK || errno == EINTR else { return false }
            if attempts > 1 { usleep(napInMicroseconds) }
        }
        errno = EWOULDBLOCK
        return false
    }

    /// Releases the lock before the end of its scope.
    consuming func release() {}

    private static let attempts = 500
    private static let napInMicroseconds: UInt32 = 2000
}

extension ListeningSocket {
    /// Returns the path that a socket is bound to, or nil for an abstract or unnamed socket.
    static func path(of descriptor: Int32) -> String? {
        var address = sockaddr_un()
        var size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard code == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
        let length = min(Int(size), MemoryLayout<sockaddr_un>.size) - MemoryLayout<sa_family_t>.size
        let bytes = withUnsafeBytes(of: &address.sun_path) { $0.prefix(max(0, length)).prefix { $0 != 0 } }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}

/// Listening sockets that a service manager has opened for this process (`LISTEN_FDS`).
public enum SocketActivation {
    /// The descriptors that were passed; empty if the process was started in another way.
    public static var descriptors: [Int32] {
        descriptors(for: getpid()) { name in getenv(name).map { String(cString: $0) } }
    }

    /// Returns the path of an inherited socket, or nil for an abstract or unnamed one.
    public static func path(of descriptor: Int32) -> String? { ListeningSocket.path(of: descriptor) }

    static func descriptors(for process: Int32, environment: (String) -> String?) -> [Int32] {
        guard environment("LISTEN_PID").flatMap({ Int32($0) }) == process,
            let count = environment("LISTEN_FDS").flatMap({ Int32($0) }), (1...mostDescriptors).contains(count)
        else { return [] }
        return Array(first..<first + count)
    }

    private static let first: Int32 = 3
    private static let mostDescriptors: Int32 = 1024
}
