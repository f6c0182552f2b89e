import Foundation

/// A free port of the loopback that stays ours: bound and never listening, so that it refuses connections until a program
/// that allows sharing, as most servers do, listens there.
final class ReservedPort {
    let number: UInt16
    private let descriptor: Int32

    init() throws {
        descriptor = try SystemError.check(
            socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0), "socket")
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (bound, named) = withUnsafeMutablePointer(to: &address) { [descriptor] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                (bind(descriptor, $0, size), getsockname(descriptor, $0, &size))
            }
        }
        _ = try SystemError.check(min(bound, named), "bind to a free port")
        number = UInt16(bigEndian: address.sin_port)
        // Only now: a port that is free may be given to two sockets when both allow sharing.
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit {
        close(descriptor)
    }
}
