import CNetlink
import Glibc
import HeadgateCore

/// Reads what a routing netlink socket gives: messages in a row, each a header and a body with attributes. Pure: what an
/// interface is made of is asked of `kind`.
struct NetlinkMessages {
    /// What one datagram says.
    struct Reading: Equatable {
        var facts: [NetworkFact] = []
        /// The end of a list that was asked for.
        var isListDone = false
        /// The kernel could not tell all: everything has to be asked for again.
        var hasGaps = false
    }

    /// The kind of an interface by its name.
    let kind: (String) -> ConnectionKind

    func read(_ datagram: UnsafeRawBufferPointer) -> Reading {
        var reading = Reading()
        var rest = datagram[...]
        while rest.count >= MemoryLayout<nlmsghdr>.size {
            let header = rest.load(nlmsghdr.self)
            let length = Int(header.nlmsg_len)
            guard length >= MemoryLayout<nlmsghdr>.size, length <= rest.count else {
                reading.hasGaps = true
                return reading
            }
            let body = UnsafeRawBufferPointer(rebasing: rest.prefix(length).dropFirst(MemoryLayout<nlmsghdr>.size))
            read(Int(header.nlmsg_type), body, into: &reading)
            rest = rest.dropFirst(length.alignedToFour)
        }
        return reading
    }

    private func read(_ type: Int, _ body: UnsafeRawBufferPointer, into reading: inout Reading) {
        switch type {
        case Int(NLMSG_DONE): reading.isListDone = true
        case Int(NLMSG_ERROR): reading.hasGaps = true
        case Int(RTM_NEWLINK): link(body).map { reading.facts.append($0) }
        case Int(RTM_DELLINK): linkGone(body).map { reading.facts.append($0) }
        case Int(RTM_NEWADDR): address(body).map { reading.facts.append($0) }
        case Int(RTM_DELADDR): address(body, isGone: true).map { reading.facts.append($0) }
        case Int(RTM_NEWROUTE): reading.facts += defaultRoutes(body).map { .defaultRoute($0) }
        case Int(RTM_DELROUTE): reading.facts += defaultRoutes(body).map { .defaultRouteGone($0) }
        default: break
        }
    }

    // MARK: Links

    private func link(_ body: UnsafeRawBufferPointer) -> NetworkFact? {
        guard body.count >= MemoryLayout<ifinfomsg>.size else { return nil }
        let info = body[...].load(ifinfomsg.self)
        guard info.ifi_family != UInt8(AF_BRIDGE) else { return nil }
        let attributes = NetlinkAttributes(body, after: MemoryLayout<ifinfomsg>.size)
        guard let name = attributes.text(IFLA_IFNAME) else { return nil }
        let flags = info.ifi_flags
        let isRunning = flags & UInt32(IFF_UP.rawValue) != 0 && flags & UInt32(IFF_LOWER_UP.rawValue) != 0
        let interface = NetworkInterface(
            name: name, isLoopback: flags & UInt32(IFF_LOOPBACK.rawValue) != 0, isRunning: isRunning, kind: kind(name))
        return .link(index: info.ifi_index, interface)
    }

    private func linkGone(_ body: UnsafeRawBufferPointer) -> NetworkFact? {
        guard body.count >= MemoryLayout<ifinfomsg>.size else { return nil }
        let info = body[...].load(ifinfomsg.self)
        // A bridge tells of a port that left it in the same way; the interface itself stays.
        return info.ifi_family == UInt8(AF_BRIDGE) ? nil : .linkGone(index: info.ifi_index)
    }

    // MARK: Addresses

    /// An address of global scope. One of IPv6 that is still being probed, or was found to be another's, is as good as
    /// none.
    private func address(_ body: UnsafeRawBufferPointer, isGone: Bool = false) -> NetworkFact? {
        guard body.count >= MemoryLayout<ifaddrmsg>.size else { return nil }
        let info = body[...].load(ifaddrmsg.self)
        guard info.ifa_scope == UInt8(RT_SCOPE_UNIVERSE.rawValue) else { return nil }
        let attributes = NetlinkAttributes(body, after: MemoryLayout<ifaddrmsg>.size)
        guard let bytes = attributes.bytes(IFA_LOCAL) ?? attributes.bytes(IFA_ADDRESS) else {
            return nil
        }
        let flags = attributes.number(IFA_FLAGS) ?? UInt32(info.ifa_flags)
        let isUsable = flags & UInt32(IFA_F_TENTATIVE | IFA_F_DADFAILED) == 0
        let address = NetworkAddress(family: info.ifa_family, bytes: bytes, prefixLength: info.ifa_prefixlen)
        let index = Int32(bitPattern: info.ifa_index)
        return isUsable && !isGone ? .address(index: index, address) : .addressGone(index: index, address)
    }

    // MARK: Routes

    /// The default routes that a message tells of: one, or one for each next hop.
    private func defaultRoutes(_ body: UnsafeRawBufferPointer) -> [NetworkRoute] {
        guard body.count >= MemoryLayout<rtmsg>.size else { return [] }
        let info = body[...].load(rtmsg.self)
        let isUsable = info.rtm_type == UInt8(RTN_UNICAST) && info.rtm_dst_len == 0
        guard isUsable, info.rtm_flags & UInt32(RTM_F_CLONED) == 0 else { return [] }
        let attributes = NetlinkAttributes(body, after: MemoryLayout<rtmsg>.size)
        let table = attributes.number(Int(RTA_TABLE.rawValue)) ?? UInt32(info.rtm_table)
        guard table != UInt32(RT_TABLE_LOCAL.rawValue) else { return [] }
        let route = NetworkRoute(
            family: info.rtm_family, table: table, interface: 0,
            metric: attributes.number(Int(RTA_PRIORITY.rawValue)) ?? 0,
            gateway: attributes.bytes(Int(RTA_GATEWAY.rawValue)) ?? [])
        return interfaces(of: attributes).map { interface in
            var routed = route
            routed.interface = interface
            return routed
        }
    }

    private func interfaces(of attributes: NetlinkAttributes) -> [Int32] {
        if let interface = attributes.number(Int(RTA_OIF.rawValue)) { return [Int32(bitPattern: interface)] }
        guard let hops = attributes.bytes(Int(RTA_MULTIPATH.rawValue)) else { return [] }
        return hops.withUnsafeBytes { hops in
            var interfaces: [Int32] = []
            var rest = hops[...]
            while rest.count >= MemoryLayout<rtnexthop>.size {
                let hop = rest.load(rtnexthop.self)
                guard Int(hop.rtnh_len) >= MemoryLayout<rtnexthop>.size else { break }
                interfaces.append(hop.rtnh_ifindex)
                rest = rest.dropFirst(Int(hop.rtnh_len).alignedToFour)
            }
            return interfaces
        }
    }
}
