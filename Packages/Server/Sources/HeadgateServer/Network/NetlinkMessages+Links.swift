import CNetlink
import Glibc
import HeadgateCore

extension NetlinkMessages {
    func link(_ body: UnsafeRawBufferPointer) -> NetworkFact? {
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

    func linkGone(_ body: UnsafeRawBufferPointer) -> NetworkFact? {
        linkInfo(body).map { .linkGone(index: $0.ifi_index) }
    }

    private func linkInfo(_ body: UnsafeRawBufferPointer) -> ifinfomsg? {
        guard body.count >= MemoryLayout<ifinfomsg>.size else { return nil }
        let info = body[...].load(ifinfomsg.self)
        // A bridge tells of its ports in the same way, also that one has left it; the interface itself stays.
        return info.ifi_family == UInt8(AF_BRIDGE) ? nil : info
    }

    /// An address of global scope; nil for others.
    func address(_ body: UnsafeRawBufferPointer, isGone: Bool = false) -> NetworkFact? {
        guard body.count >= MemoryLayout<ifaddrmsg>.size else { return nil }
        let info = body[...].load(ifaddrmsg.self)
        guard isInternet(info.ifa_family), info.ifa_scope == UInt8(RT_SCOPE_UNIVERSE.rawValue) else { return nil }
        let attributes = NetlinkAttributes(body, after: MemoryLayout<ifaddrmsg>.size)
        // With a peer, the other attribute is the peer's address.
        guard let bytes = attributes.bytes(IFA_LOCAL) ?? attributes.bytes(IFA_ADDRESS) else { return nil }
        let address = NetworkAddress(family: info.ifa_family, bytes: bytes, prefixLength: info.ifa_prefixlen)
        let index = Int32(bitPattern: info.ifa_index)
        let isUsable = isUsable(flags: attributes.number(IFA_FLAGS) ?? UInt32(info.ifa_flags))
        return isUsable && !isGone ? .address(index: index, address) : .addressGone(index: index, address)
    }

    /// An address of IPv6 that is still being probed, or was found to be another's, is as good as none, unless it is an
    /// optimistic one (RFC 4429).
    private func isUsable(flags: UInt32) -> Bool {
        guard flags & UInt32(IFA_F_DADFAILED) == 0 else { return false }
        return flags & UInt32(IFA_F_TENTATIVE) == 0 || flags & UInt32(IFA_F_OPTIMISTIC) != 0
    }

    func isInternet(_ family: UInt8) -> Bool {
        family == UInt8(AF_INET) || family == UInt8(AF_INET6)
    }
}
