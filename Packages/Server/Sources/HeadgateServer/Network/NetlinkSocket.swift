import CNetlink
import Glibc

/// A routing netlink socket: the kernel tells on it what changes, and answers what is asked (rtnetlink(7)).
final class NetlinkSocket {
    let descriptor: Int32
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 8)
    private var sequence: UInt32 = 0

    /// What is listened to: links, addresses and routes.
    private static let groups = UInt32(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR)
        | UInt32(RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE)

    /// Nil where the kernel has no such socket for this process; `errno` says why.
    init?() {
        let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = socket(AF_NETLINK, type, NETLINK_ROUTE)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        address.nl_groups = NetlinkSocket.groups
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
            }
        }
        if bound != 0 { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        buffer.deallocate()
    }

    /// Asks for all of a list: `RTM_GETLINK`, `RTM_GETADDR` or `RTM_GETROUTE`.
    func request(_ type: Int32) -> Bool {
        sequence += 1
        var message = (nlmsghdr(), rtgenmsg())
        message.0.nlmsg_len = UInt32(MemoryLayout<nlmsghdr>.size + MemoryLayout<rtgenmsg>.size)
        message.0.nlmsg_type = UInt16(type)
        message.0.nlmsg_flags = UInt16(NLM_F_REQUEST | NLM_F_DUMP)
        message.0.nlmsg_seq = sequence
        message.1.rtgen_family = UInt8(AF_UNSPEC)
        let length = Int(message.0.nlmsg_len)
        return withUnsafeBytes(of: &message) { send(descriptor, $0.baseAddress, length, 0) == length }
    }

    /// What one read came to.
    enum Read {
        case datagram(UnsafeRawBufferPointer)
        /// There is nothing more at present.
        case nothing
        /// The kernel had more to tell than there was room for.
        case overrun
    }

    /// Reads a datagram, which is valid until the next read.
    func read() -> Read {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        if count > 0 { return .datagram(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
        return count < 0 && errno == ENOBUFS ? .overrun : .nothing
    }
}
