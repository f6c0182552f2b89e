import Glibc

/// The path of a Unix socket, checked to be neither too long nor empty and without NUL bytes.
public struct UnixAddress: Sendable, Hashable {
    /// The longest path in bytes: the kernel's 108 with the trailing NUL.
    public static let longestPath = 107

    public let path: String

    /// Checks a path.
    public init(path: String) throws(TransportError) {
        guard path.utf8.count <= Self.longestPath else { throw .pathTooLong(path: path) }
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .invalidPath(path: path) }
        self.path = path
    }

    /// The directory of the socket.
    var directory: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Calls `body` with the address in the form for system calls.
    func withSystemAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                body(generic, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Connects `socket` to this address. Returns 0, or -1 with `errno`.
    func connect(_ socket: borrowing Descriptor) -> Int32 {
        let number = socket.number
        return withSystemAddress { Glibc.connect(number, $0, $1) }
    }
}

/// A file descriptor that is closed when its owner is released.
struct Descriptor: ~Copyable {
    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }

    /// Creates a Unix stream socket, non-blocking and with close-on-exec.
    static func unixStream() throws(TransportError) -> Descriptor {
        let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let number = socket(AF_UNIX, Int32(kind), 0)
        guard number >= 0 else { throw .last("socket") }
        return Descriptor(number)
    }

    /// Makes a descriptor non-blocking and sets close-on-exec.
    func prepareForLoop() throws(TransportError) {
        let flags = fcntl(number, F_GETFL)
        guard flags >= 0, fcntl(number, F_SETFL, flags | O_NONBLOCK) >= 0, fcntl(number, F_SETFD, FD_CLOEXEC) >= 0
        else { throw .last("fcntl") }
    }

    /// Returns a numeric option of the socket, or nil if it has none with that name.
    func option(_ name: Int32) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(number, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }
}
