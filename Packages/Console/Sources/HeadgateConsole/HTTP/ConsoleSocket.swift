import Glibc
import HeadgateTransport

/// The socket on which the console listens.
final class ConsoleSocket {
    /// The address, with the port that the system chose.
    let address: ListenAddress
    /// The descriptor, which the server closes.
    let descriptor: Int32
    /// The file of a Unix socket, which is removed with this object.
    private let file: BoundSocket?

    /// The reason why the socket cannot listen, as a text for people.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// Binds the socket and listens.
    init(_ address: ListenAddress) throws {
        switch address {
        case .path(let path):
            let bound = try BoundSocket(at: path, backlog: Self.backlog)
            file = bound
            descriptor = fcntl(bound.descriptor, F_DUPFD_CLOEXEC, 0)
            self.address = address
        case .ipv4(let numbers, let port):
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = port.bigEndian
            name.sin_addr.s_addr = numbers.reversed().reduce(0) { $0 << 8 | UInt32($1) }
            file = nil
            descriptor = try Self.listen(AF_INET, &name, address)
            self.address = address.at(port: Self.port(of: descriptor) ?? port)
        case .ipv6(let numbers, let port):
            var name = sockaddr_in6()
            name.sin6_family = sa_family_t(AF_INET6)
            name.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &name.sin6_addr) { $0.copyBytes(from: numbers) }
            file = nil
            descriptor = try Self.listen(AF_INET6, &name, address)
            self.address = address.at(port: Self.port(of: descriptor) ?? port)
        }
    }

    private static func listen<Name>(_ family: Int32, _ name: inout Name, _ address: ListenAddress) throws -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { throw fault(address) }
        // Connections of an earlier console may not be completely closed yet.
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        let isBound = withUnsafeBytes(of: &name) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, socklen_t(bytes.count)) == 0 }
        }
        guard isBound, Glibc.listen(descriptor, backlog) == 0 else {
            let fault = fault(address)
            close(descriptor)
            throw fault
        }
        return descriptor
    }

    private static func fault(_ address: ListenAddress) -> Fault {
        let reason = String(cString: strerror(errno))
        let name = "\(address.host ?? ""):\(address.port ?? 0)"
        return Fault(description: "cannot listen on \(name): \(reason); choose another address with --listen")
    }

    /// Returns the port of a socket. Both address families have it at the same offset.
    private static func port(of descriptor: Int32) -> UInt16? {
        var name = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let code = withUnsafeMutableBytes(of: &name) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { getsockname(descriptor, $0.baseAddress, &size) }
        }
        return code == 0 ? UInt16(bigEndian: name.sin6_port) : nil
    }

    private static let backlog: Int32 = 1_024
}
