import Glibc

/// A socket that listens, and the file that it made for it, if it did.
struct ListeningSocket: ~Copyable {
    let descriptor: Descriptor
    let file: SocketFile?

    /// Takes over a descriptor that was handed to the process. Its file is its maker's.
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

    /// Binds and listens: makes a missing directory (mode 0750) and replaces a left-over socket file that nobody
    /// answers on. The file has mode 0660 from the start (Behaviour X1).
    init(at address: UnixAddress, backlog: Int32) throws(TransportError) {
        try Self.makeDirectory(address.directory)
        let descriptor = try Descriptor.unixStream()
        let lock = try DirectoryLock(address.directory)
        try Self.clear(address)
        try Self.bind(descriptor, to: address)
        let file = try SocketFile(boundAt: address.path)
        guard listen(descriptor.number, backlog) == 0 else {
            let error = TransportError.last("listen", path: address.path)
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
        let failed = withFileMask(0o027) { mkdir(path, 0o750) != 0 && errno != EEXIST }
        if failed { throw .last("mkdir", path: path) }
    }

    /// Removes a socket file that nobody answers on. All else that may lie there is an error.
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
        // A full backlog, or a socket of another kind: somebody has it.
        case EAGAIN, EPROTOTYPE: return true
        default: throw .last("connect", path: address.path)
        }
    }

    private static func bind(_ descriptor: borrowing Descriptor, to address: UnixAddress) throws(TransportError) {
        let number = descriptor.number
        let code = withFileMask(0o117) { address.withSystemAddress { Glibc.bind(number, $0, $1) } }
        guard code != 0 else { return }
        guard errno != EADDRINUSE else { throw .inUse(path: address.path) }
        throw .last("bind", path: address.path)
    }

    // The mask is the whole process's: another thread that makes a file in these microseconds gets it too tight rather
    // than too wide. A chmod afterwards would leave a moment, and might hit what somebody else has put in its place.
    private static func withFileMask<Result>(_ mask: mode_t, _ body: () -> Result) -> Result {
        let former = umask(mask)
        defer { _ = umask(former) }
        return body()
    }
}
