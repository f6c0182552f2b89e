import Glibc

/// The path of a Unix socket, checked: neither too long, nor empty, nor with a NUL byte in it.
public struct UnixAddress: Sendable, Hashable {
    /// The most bytes that a path may have: the kernel's 108 with the NUL behind it.
    public static let longestPath = 107

    public let path: String

    /// Checks a path.
    public init(path: String) throws(TransportError) {
        guard path.utf8.count <= Self.longestPath else { throw .pathTooLong(path: path) }
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .invalidPath(path: path) }
        self.path = path
    }

    /// The directory that the socket lies in.
    var directory: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Shows the address as the system's calls want it.
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

    /// Connects `socket` to this address; 0, or -1 and `errno`.
    func connect(_ socket: borrowing Descriptor) -> Int32 {
        let number = socket.number
        return withSystemAddress { Glibc.connect(number, $0, $1) }
    }
}

/// A file descriptor that is closed when its one owner lets go of it.
struct Descriptor: ~Copyable {
    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }

    /// A new Unix stream socket, non-blocking and closed on exec.
    static func unixStream() throws(TransportError) -> Descriptor {
        let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let number = socket(AF_UNIX, Int32(kind), 0)
        guard number >= 0 else { throw .last("socket") }
        return Descriptor(number)
    }

    /// Makes a descriptor that came from elsewhere non-blocking and closed on exec.
    func prepareForLoop() throws(TransportError) {
        let flags = fcntl(number, F_GETFL)
        guard flags >= 0, fcntl(number, F_SETFL, flags | O_NONBLOCK) >= 0, fcntl(number, F_SETFD, FD_CLOEXEC) >= 0
        else { throw .last("fcntl") }
    }

    /// A numeric option of the socket; nil if it has none of that name.
    func option(_ name: Int32) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(number, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }
}
