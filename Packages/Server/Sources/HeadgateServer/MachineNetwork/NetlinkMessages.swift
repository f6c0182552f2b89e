import CNetlink
import Glibc
import HeadgateCore

/// A decoder of datagrams of a routing netlink socket. A datagram has consecutive messages, each a header and a body
/// (netlink(7)). Only `kind` reads anything else.
struct NetlinkMessages {
    /// Returns the kind of an interface, by the interface's name.
    let kind: (String) -> ConnectionKind

    func read(_ datagram: UnsafeRawBufferPointer) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var rest = datagram[...]
        while rest.count >= MemoryLayout<nlmsghdr>.size {
            let header = rest.load(nlmsghdr.self)
            let length = Int(header.nlmsg_len)
            guard length >= MemoryLayout<nlmsghdr>.size, length <= rest.count else { return messages + [.garbled] }
            let body = UnsafeRawBufferPointer(rebasing: rest.prefix(length).dropFirst(MemoryLayout<nlmsghdr>.size))
            if Int32(header.nlmsg_flags) & NLM_F_DUMP_INTR != 0 { messages.append(.listInterrupted(header.nlmsg_seq)) }
            messages += read(header, body)
            rest = rest.dropFirst(length.alignedToFour)
        }
        return rest.isEmpty ? messages : messages + [.garbled]
    }

    private func read(_ header: nlmsghdr, _ body: UnsafeRawBufferPointer) -> [NetlinkMessage] {
        switch Int32(header.nlmsg_type) {
        case NLMSG_DONE: [errorCode(body) < 0 ? .listRefused(header.nlmsg_seq) : .listEnded(header.nlmsg_seq)]
        case NLMSG_ERROR: errorCode(body) < 0 ? [.listRefused(header.nlmsg_seq)] : []
        default: facts(header, body).map { .fact($0) }
        }
    }

    /// Returns the error at the start of a body: a negated `errno`, or 0 for no error.
    private func errorCode(_ body: UnsafeRawBufferPointer) -> Int32 {
        body.count >= MemoryLayout<Int32>.size ? body[...].load(Int32.self) : 0
    }

    private func facts(_ header: nlmsghdr, _ body: UnsafeRawBufferPointer) -> [NetworkFact] {
        switch Int(header.nlmsg_type) {
        case Int(RTM_NEWLINK): link(body).map { [$0] } ?? []
        case Int(RTM_DELLINK): linkGone(body).map { [$0] } ?? []
        case Int(RTM_NEWADDR): address(body).map { [$0] } ?? []
        case Int(RTM_DELADDR): address(body, isGone: true).map { [$0] } ?? []
        case Int(RTM_NEWROUTE): newRoute(body, isReplacing: Int32(header.nlmsg_flags) & NLM_F_REPLACE != 0)
        case Int(RTM_DELROUTE): defaultRoutes(body) == nil ? [] : [.defaultRoutesChanged]
        default: []
        }
    }

    // MARK: Links and addresses

    private func link(_ body: UnsafeRawBufferPointer) -> NetworkFact? {
        guard let info = linkInfo(body) else { return nil }
        let attributes = NetlinkAttributes(body, after: MemoryLayout<ifinfomsg>.size)
        guard let name = attributes.text(IFLA_IFNAME) else { return nil }
        let flags = info.ifi_flags
        let interface = NetworkInterface(
            name: name, isLoopback: flags & UInt32(IFF_LOOPBACK.rawValue) != 0,
            isUp: flags & UInt32(IFF_UP.rawValue) != 0, hasCarrier: flags & UInt32(IFF_LOWER_UP.rawValue) != 0,
            kind: kind(name))
        return .link(index: info.ifi_index, interface)
    }

    private func linkGone(_ body: UnsafeRawBufferPointer) -> NetworkFact? {
        linkInfo(body).map { .linkGone(index: $0.ifi_index) }
    }

    private func linkInfo(_ body: UnsafeRawBufferPointer) -> ifinfomsg? {
        guard body.count >= MemoryLayout<ifinfomsg>.size else { return nil }
        let info = body[...].load(ifinfomsg.self)
        // A bridge reports the joining and leaving of its ports as links. The port's interface itself stays.
        return info.ifi_family == UInt8(AF_BRIDGE) ? nil : info
    }

    /// Returns the fact that an address of global scope was added or removed, or nil for addresses of other scopes.
    private func address(_ body: UnsafeRawBufferPointer, isGone: Bool = false) -> NetworkFact? {
        guard body.count >= MemoryLayout<ifaddrmsg>.size else { return nil }
        let info = body[...].load(ifaddrmsg.self)
        guard isInternet(info.ifa_family), info.ifa_scope == UInt8(RT_SCOPE_UNIVERSE.rawValue) else { return nil }
        let attributes = NetlinkAttributes(body, after: MemoryLayout<ifaddrmsg>.size)
        // If the address has a peer, IFA_ADDRESS is the peer's address.
        guard let bytes = attributes.bytes(IFA_LOCAL) ?? attributes.bytes(IFA_ADDRESS) else { return nil }
        let address = NetworkAddress(family: info.ifa_family, bytes: bytes, prefixLength: info.ifa_prefixlen)
        let index = Int32(bitPattern: info.ifa_index)
        let isUsable = isUsable(flags: attributes.number(IFA_FLAGS) ?? UInt32(info.ifa_flags))
        return isUsable && !isGone ? .address(index: index, address) : .addressGone(index: index, address)
    }

    /// Returns false for an IPv6 address that is still being checked or that another machine has. An optimistic address
    /// (RFC 4429) is usable during the check.
    private func isUsable(flags: UInt32) -> Bool {
        guard flags & UInt32(IFA_F_DADFAILED) == 0 else { return false }
        return flags & UInt32(IFA_F_TENTATIVE) == 0 || flags & UInt32(IFA_F_OPTIMISTIC) != 0
    }

    private func isInternet(_ family: UInt8) -> Bool {
        family == UInt8(AF_INET) || family == UInt8(AF_INET6)
    }

    // MARK: Default routes

    private func newRoute(_ body: UnsafeRawBufferPointer, isReplacing: Bool) -> [NetworkFact] {
        guard let routes = defaultRoutes(body) else { return [] }
        // The kernel sends no message that the replaced route is gone.
        return routes.map { .defaultRoute($0) } + (isReplacing ? [.defaultRoutesChanged] : [])
    }

    /// Returns the default routes of a message, one for each next hop, or nil if the message is about another route.
    private func defaultRoutes(_ body: UnsafeRawBufferPointer) -> [NetworkRoute]? {
        guard body.count >= MemoryLayout<rtmsg>.size else { return nil }
        let info = body[...].load(rtmsg.self)
        let isDefault = isInternet(info.rtm_family) && info.rtm_dst_len == 0
        guard isDefault, info.rtm_type == UInt8(RTN_UNICAST), info.rtm_flags & UInt32(RTM_F_CLONED) == 0 else {
            return nil
        }
        let attributes = NetlinkAttributes(body, after: MemoryLayout<rtmsg>.size)
        let table = attributes.number(Int(RTA_TABLE.rawValue)) ?? UInt32(info.rtm_table)
        let metric = attributes.number(Int(RTA_PRIORITY.rawValue)) ?? 0
        return interfaces(of: attributes).map {
            NetworkRoute(interface: $0, isMain: table == UInt32(RT_TABLE_MAIN.rawValue), metric: metric)
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

/// A message of the kernel on a routing netlink socket.
enum NetlinkMessage: Equatable {
    case fact(NetworkFact)
    /// The list with this request number is complete.
    case listEnded(UInt32)
    /// The network changed while the kernel sent the list, so entries may be missing.
    case listInterrupted(UInt32)
    /// The kernel refuses the list, at least for now.
    case listRefused(UInt32)
    /// Bytes that are not a netlink message.
    case garbled
}

/// The attributes of a netlink message, by their types.
private struct NetlinkAttributes {
    private var values: [Int: [UInt8]] = [:]

    /// - Parameter start: the offset of the attributes in the message's body.
    init(_ body: UnsafeRawBufferPointer, after start: Int) {
        var rest = body.dropFirst(start.alignedToFour)
        while rest.count >= MemoryLayout<rtattr>.size {
            let header = rest.load(rtattr.self)
            let length = Int(header.rta_len)
            guard length >= MemoryLayout<rtattr>.size, length <= rest.count else { return }
            // The two upper bits are flags of the value's form.
            let type = Int(header.rta_type) & 0x3fff
            values[type] = Array(rest.prefix(length).dropFirst(MemoryLayout<rtattr>.size))
            rest = rest.dropFirst(length.alignedToFour)
        }
    }

    func bytes(_ type: Int) -> [UInt8]? {
        values[type]
    }

    func text(_ type: Int) -> String? {
        values[type].map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    func number(_ type: Int) -> UInt32? {
        guard let bytes = values[type], bytes.count >= 4 else { return nil }
        return bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
    }
}

extension Int {
    /// The next multiple of four, to which netlink aligns every part.
    fileprivate var alignedToFour: Int { (self + 3) & ~3 }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Reads a structure of the kernel at the start of the bytes. The caller has checked the length.
    fileprivate func load<Value: BitwiseCopyable>(_ type: Value.Type) -> Value {
        UnsafeRawBufferPointer(rebasing: self).loadUnaligned(as: type)
    }
}
