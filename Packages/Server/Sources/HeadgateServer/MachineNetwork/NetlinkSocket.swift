import CNetlink
import Glibc

/// The source of a network watch's netlink messages.
protocol NetlinkReading: AnyObject {
    /// The descriptor to poll. It is readable when there is a datagram.
    var descriptor: Int32 { get }
    /// Requests a list. The kernel's answer carries `number`.
    /// - Returns: false if the kernel refused the request.
    func request(_ list: NetworkList, number: UInt32) -> Bool
    /// Reads a datagram, whose bytes are valid until the next read.
    func read() -> NetlinkRead
}

/// The result of one read.
enum NetlinkRead {
    case datagram(UnsafeRawBufferPointer)
    /// No datagram is ready.
    case nothing
    /// The socket's buffer overflowed, so messages are lost.
    case overrun
}

/// A routing netlink socket, on which the kernel reports changes and answers requests (rtnetlink(7)).
final class NetlinkSocket: NetlinkReading {
    let descriptor: Int32
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 8)

    /// The multicast groups to join: links, addresses and routes.
    private static let groups =
        UInt32(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR)
        | UInt32(RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE)

    /// Opens the socket. Returns nil if the kernel refuses it to this process.
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
        // Other processes may send to this socket, too. Only messages of the kernel, whose number is 0, count.
        let isKernel = sender.nl_pid == 0
        return .datagram(UnsafeRawBufferPointer(rebasing: buffer[..<(isKernel ? count : 0)]))
    }

    /// Receives a datagram.
    /// - Returns: the datagram's full length. The buffer holds only as much as fits.
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
    /// The type of the message that requests the list.
    fileprivate var requestType: UInt16 {
        switch self {
        case .links: UInt16(RTM_GETLINK)
        case .addresses: UInt16(RTM_GETADDR)
        case .routes: UInt16(RTM_GETROUTE)
        }
    }
}
