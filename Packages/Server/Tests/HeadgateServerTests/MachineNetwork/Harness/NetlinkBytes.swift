import CNetlink
import Glibc

/// Makes the kernel's netlink messages, byte by byte (netlink(7), rtnetlink(7)).
enum NetlinkBytes {
    /// Returns a header and a body, padded to four bytes.
    static func message(_ type: Int, flags: Int32 = 0, number: UInt32 = 0, _ body: [UInt8] = []) -> [UInt8] {
        var header = nlmsghdr()
        header.nlmsg_len = UInt32(MemoryLayout<nlmsghdr>.size + body.count)
        header.nlmsg_type = UInt16(type)
        header.nlmsg_flags = UInt16(flags)
        header.nlmsg_seq = number
        return bytes(header) + padded(body)
    }

    static func attribute(_ type: Int, _ value: [UInt8]) -> [UInt8] {
        let header = rtattr(rta_len: UInt16(MemoryLayout<rtattr>.size + value.count), rta_type: UInt16(type))
        return bytes(header) + padded(value)
    }

    static func attribute(_ type: Int, _ number: UInt32) -> [UInt8] {
        attribute(type, bytes(number))
    }

    static func bytes<Value: BitwiseCopyable>(_ value: Value) -> [UInt8] {
        withUnsafeBytes(of: value) { Array($0) }
    }

    private static func padded(_ bytes: [UInt8]) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: -bytes.count & 3)
    }

    // MARK: Bodies

    static let running = [IFF_UP, IFF_LOWER_UP]

    static func link(_ index: Int32, name: String, flags: [net_device_flags] = running, family: Int32 = AF_UNSPEC)
        -> [UInt8]
    {
        var info = ifinfomsg()
        info.ifi_family = UInt8(family)
        info.ifi_index = index
        info.ifi_flags = flags.reduce(0) { $0 | $1.rawValue }
        return bytes(info) + attribute(IFLA_MTU, 1500) + attribute(IFLA_IFNAME, Array(name.utf8) + [0])
    }

    static func address(
        _ index: UInt32, _ value: [UInt8], scope: rt_scope_t = RT_SCOPE_UNIVERSE, flags: Int32? = nil,
        family: Int32? = nil, more: [UInt8] = []
    ) -> [UInt8] {
        var info = ifaddrmsg()
        info.ifa_family = UInt8(family ?? (value.count == 4 ? AF_INET : AF_INET6))
        info.ifa_prefixlen = 24
        info.ifa_scope = UInt8(scope.rawValue)
        info.ifa_index = index
        let flags = flags.map { attribute(IFA_FLAGS, UInt32($0)) } ?? []
        return bytes(info) + attribute(IFA_ADDRESS, value) + more + flags
    }

    static func route(
        _ attributes: [UInt8], family: Int32 = AF_INET, prefix: UInt8 = 0, table: UInt8 = UInt8(RT_TABLE_MAIN.rawValue),
        type: Int = Int(RTN_UNICAST), flags: Int32 = 0
    ) -> [UInt8] {
        var info = rtmsg()
        info.rtm_family = UInt8(family)
        info.rtm_dst_len = prefix
        info.rtm_table = table
        info.rtm_type = UInt8(type)
        info.rtm_flags = UInt32(flags)
        return bytes(info) + attributes
    }

    static func over(_ interface: UInt32) -> [UInt8] {
        attribute(Int(RTA_OIF.rawValue), interface)
    }

    static func hops(_ interfaces: [Int32], mark: Int = 0) -> [UInt8] {
        let gateway = attribute(Int(RTA_GATEWAY.rawValue), [192, 0, 2, 1])
        let hops = interfaces.flatMap { interface in
            bytes(
                rtnexthop(
                    rtnh_len: UInt16(MemoryLayout<rtnexthop>.size + gateway.count), rtnh_flags: 0, rtnh_hops: 0,
                    rtnh_ifindex: interface)) + gateway
        }
        return attribute(Int(RTA_MULTIPATH.rawValue) | mark, hops)
    }
}
