import Foundation

/// Unix sockets by their paths.
enum UnixSocket {
    /// As connect(2): 0, or -1 and `errno`.
    static func connect(_ descriptor: Int32, to path: String) -> Int32 {
        withAddress(path) { Glibc.connect(descriptor, $0, $1) }
    }

    /// A socket that listens there, as a service manager opens it for a service.
    static func listen(at path: String) throws -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = try SystemError.check(socket(AF_UNIX, kind, 0), "socket")
        _ = try SystemError.check(withAddress(path) { bind(descriptor, $0, $1) }, "bind to \(path)")
        _ = try SystemError.check(Glibc.listen(descriptor, 16), "listen at \(path)")
        return descriptor
    }

    private static func withAddress(
        _ path: String, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        precondition(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path), "too long: \(path)")
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
