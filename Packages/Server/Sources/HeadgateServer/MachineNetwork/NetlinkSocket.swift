import CNetlink
import Glibc

/// Where a watch of the network reads what the kernel tells.
protocol NetlinkReading: AnyObject {
    /// Readable when there is something to read.
    var descriptor: Int32 { get }
    /// Asks for a list; the kernel's answer carries `number`.
    /// - Returns: whether the kernel took the question.
    func request(_ list: NetworkList, number: UInt32) -> Bool
    /// Reads a datagram, which is valid until the next read.
    func read() -> NetlinkRead
}

/// What one read came to.
enum NetlinkRead {
    case datagram(UnsafeRawBufferPointer)
    /// There is nothing more at present.
    case nothing
    /// The kernel had more to tell than there was room for.
    case overrun
}

/// A routing netlink socket: the kernel tells on it what changes, and answers what is asked (rtnetlink(7)).
final class NetlinkSocket: NetlinkReading {
    let descriptor: Int32
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 8)

    /// What is listened to: links, addresses and routes.
    private static let groups =
        UInt32(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR)
        | UInt32(RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE)

    /// Nil where the kernel has no such socket for this process.
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

    func request(_ list: NetworkList, number: UInt32) -> Bool {
        var message = (nlmsghdr(), rtgenmsg())
        message.0.nlmsg_len = UInt32(MemoryLayout<nlmsghdr>.size + MemoryLayout<rtgenmsg>.size)
        message.0.nlmsg_type = list.requestType
        message.0.nlmsg_flags = UInt16(NLM_F_REQUEST | NLM_F_DUMP)
        message.0.nlmsg_seq = number
        message.1.rtgen_family = UInt8(AF_UNSPEC)
        let length = Int(message.0.nlmsg_len)
        return withUnsafeBytes(of: &message) { send(descriptor, $0.baseAddress, length, 0) == length }
    }

    func read() -> NetlinkRead {
        var sender = sockaddr_nl()
        let count = receive(&sender)
        guard count >= 0 else { return errno == EAGAIN ? .nothing : .overrun }
        guard count <= buffer.count else { return .overrun }
        // Other processes may write here too; only the kernel, which has number 0, is listened to.
        let isKernel = sender.nl_pid == 0
        return .datagram(UnsafeRawBufferPointer(rebasing: buffer[..<(isKernel ? count : 0)]))
    }

    /// - Returns: the datagram's own length, of which only as much is in the buffer as fits.
    private func receive(_ sender: inout sockaddr_nl) -> Int {
        var size = socklen_t(MemoryLayout<sockaddr_nl>.size)
        return withUnsafeMutablePointer(to: &sender) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_TRUNC), $0, &size)
            }
        }
    }
}

extension NetworkList {
    /// The type of the message that asks for it.
    fileprivate var requestType: UInt16 {
        switch self {
        case .links: UInt16(RTM_GETLINK)
        case .addresses: UInt16(RTM_GETADDR)
        case .routes: UInt16(RTM_GETROUTE)
        }
    }
}
