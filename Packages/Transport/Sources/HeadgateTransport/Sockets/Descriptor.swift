import Glibc

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
