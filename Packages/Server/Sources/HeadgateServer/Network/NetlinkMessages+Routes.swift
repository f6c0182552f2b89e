import CNetlink
import Glibc

extension NetlinkMessages {
    func newRoute(_ body: UnsafeRawBufferPointer, isReplacing: Bool) -> [NetworkFact] {
        guard let routes = defaultRoutes(body) else { return [] }
        // That the replaced one is gone is told by nothing else.
        return routes.map { .defaultRoute($0) } + (isReplacing ? [.defaultRoutesChanged] : [])
    }

    /// The default routes that a message tells of: one, or one for each next hop. Nil: it is about another route.
    func defaultRoutes(_ body: UnsafeRawBufferPointer) -> [NetworkRoute]? {
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
