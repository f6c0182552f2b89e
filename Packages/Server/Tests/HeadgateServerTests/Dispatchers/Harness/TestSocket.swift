import Foundation

/// Sockets of tests.
enum TestSocket {
    struct Failure: Error {
        var operation: String
        var code = errno
    }

    /// Listens on a free port of 127.0.0.1.
    static func loopback() throws -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        return try listening(AF_INET, &address)
    }

    /// Listens on a path.
    static func unix(_ path: String) throws -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return try listening(AF_UNIX, &address)
    }

    /// The port that a socket is bound to; 0 for a path.
    static func port(of socket: Int32) -> UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutableBytes(of: &address) { bytes in
            getsockname(socket, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
        }
        return address.sin_family == sa_family_t(AF_INET) ? UInt16(bigEndian: address.sin_port) : 0
    }

    /// A port of 127.0.0.1 on which nobody listens: it was free a moment ago.
    static func unusedPort() throws -> UInt16 {
        let socket = try loopback()
        defer { close(socket) }
        return port(of: socket)
    }

    private static func listening<Address>(_ family: Int32, _ address: inout Address) throws -> Int32 {
        let socket = Glibc.socket(family, Int32(SOCK_STREAM.rawValue | UInt32(SOCK_CLOEXEC.rawValue)), 0)
        guard socket >= 0 else { throw Failure(operation: "socket") }
        let bound = withUnsafeBytes(of: &address) { bytes in
            bind(socket, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard bound == 0, listen(socket, 128) == 0 else { throw Failure(operation: "bind") }
        return socket
    }
}
