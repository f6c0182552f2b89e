import CNetlink
import Glibc
import HeadgateCore
import HeadgateSeeds
import Testing

@testable import HeadgateServer

/// Tests the decoding of the kernel's messages.
@Suite struct NetlinkMessagesTests {
    // MARK: Links

    @Test("B21: a link is reported with its name, its flags and its kind")
    func link() {
        let reported = facts(Int(RTM_NEWLINK), NetlinkBytes.link(7, name: "wlan0"))
        #expect(
            reported == [
                .link(
                    index: 7,
                    NetworkInterface(name: "wlan0", isLoopback: false, isUp: true, hasCarrier: true, kind: .wifi))
            ])
    }

    @Test(
        "B20: loopback, up and carrier are distinguished",
        arguments: [
            ([], false, false, false), ([IFF_UP], false, true, false), ([IFF_LOWER_UP], false, false, true),
            ([IFF_UP, IFF_LOWER_UP, IFF_LOOPBACK], true, true, true),
        ] as [([net_device_flags], Bool, Bool, Bool)])
    func flags(flags: [net_device_flags], isLoopback: Bool, isUp: Bool, hasCarrier: Bool) {
        let expected = NetworkInterface(
            name: "x", isLoopback: isLoopback, isUp: isUp, hasCarrier: hasCarrier, kind: .other)
        let reported = facts(Int(RTM_NEWLINK), NetlinkBytes.link(1, name: "x", flags: flags))
        #expect(reported == [.link(index: 1, expected)])
    }

    @Test("B21: a link that disappears is reported, but not a bridge's port that only leaves the bridge")
    func linkGone() {
        #expect(facts(Int(RTM_DELLINK), NetlinkBytes.link(7, name: "x")) == [.linkGone(index: 7)])
        let port = NetlinkBytes.link(7, name: "x", family: AF_BRIDGE)
        #expect(facts(Int(RTM_DELLINK), port) == [])
        #expect(facts(Int(RTM_NEWLINK), port) == [])
    }

    // MARK: Addresses

    private let host: [UInt8] = [192, 0, 2, 7]
    private let host6: [UInt8] = [0x20, 1, 0xd, 0xb8] + [UInt8](repeating: 1, count: 12)

    @Test("B20: an address of global scope is reported, of either family, also when it disappears")
    func addresses() {
        for value in [host, host6] {
            let family = UInt8(value.count == 4 ? AF_INET : AF_INET6)
            let address = NetworkAddress(family: family, bytes: value, prefixLength: 24)
            let body = NetlinkBytes.address(3, value)
            #expect(facts(Int(RTM_NEWADDR), body) == [.address(index: 3, address)])
            #expect(facts(Int(RTM_DELADDR), body) == [.addressGone(index: 3, address)])
        }
    }

    @Test("B20: addresses of a narrower scope are ignored", arguments: [RT_SCOPE_SITE, RT_SCOPE_LINK, RT_SCOPE_HOST])
    func scopes(scope: rt_scope_t) {
        #expect(facts(Int(RTM_NEWADDR), NetlinkBytes.address(3, host6, scope: scope)) == [])
        #expect(facts(Int(RTM_DELADDR), NetlinkBytes.address(3, host6, scope: scope)) == [])
    }

    @Test("B20: for an address with a peer, the local address is reported")
    func peer() {
        let body = NetlinkBytes.address(3, [10, 0, 0, 1], more: NetlinkBytes.attribute(IFA_LOCAL, host))
        let address = NetworkAddress(family: UInt8(AF_INET), bytes: host, prefixLength: 24)
        #expect(facts(Int(RTM_NEWADDR), body) == [.address(index: 3, address)])
    }

    @Test(
        "B20: an IPv6 address counts after duplicate address detection, or during it if the address is optimistic",
        arguments: [
            (IFA_F_PERMANENT, true), (IFA_F_TENTATIVE, false), (IFA_F_DADFAILED, false),
            (IFA_F_TENTATIVE | IFA_F_OPTIMISTIC, true), (IFA_F_DADFAILED | IFA_F_OPTIMISTIC, false),
            (IFA_F_DEPRECATED, true),
        ])
    func tentative(flags: Int32, isUsable: Bool) {
        let address = NetworkAddress(family: UInt8(AF_INET6), bytes: host6, prefixLength: 24)
        let reported = facts(Int(RTM_NEWADDR), NetlinkBytes.address(3, host6, flags: flags))
        #expect(reported == [isUsable ? .address(index: 3, address) : .addressGone(index: 3, address)])
    }

    @Test("B20: addresses of other families, and those without bytes, are ignored")
    func strangeAddresses() {
        #expect(facts(Int(RTM_NEWADDR), NetlinkBytes.address(3, host, family: AF_APPLETALK)) == [])
        #expect(facts(Int(RTM_NEWADDR), NetlinkBytes.bytes(ifaddrmsg())) == [])
    }

    // MARK: Routes

    private func route(_ interface: Int32, isMain: Bool = true, metric: UInt32 = 0) -> NetworkFact {
        .defaultRoute(NetworkRoute(interface: interface, isMain: isMain, metric: metric))
    }

    @Test("B21: a default route is reported with its interface and its metric", arguments: [AF_INET, AF_INET6])
    func defaultRoute(family: Int32) {
        let metric = NetlinkBytes.attribute(Int(RTA_PRIORITY.rawValue), 600)
        let body = NetlinkBytes.route(NetlinkBytes.over(4) + metric, family: family)
        #expect(facts(Int(RTM_NEWROUTE), body) == [route(4, metric: 600)])
        #expect(facts(Int(RTM_DELROUTE), body) == [.defaultRoutesChanged])
    }

    @Test("B21: a default route over several next hops is reported as one route for each interface")
    func multipath() {
        let body = NetlinkBytes.route(NetlinkBytes.hops([4, 5]))
        #expect(facts(Int(RTM_NEWROUTE), body) == [route(4), route(5)])
        #expect(facts(Int(RTM_DELROUTE), body) == [.defaultRoutesChanged])
    }

    @Test(
        "B21: a default route in another table than the main one is reported, also if the table's number is above 255")
    func tables() {
        let short = NetlinkBytes.route(NetlinkBytes.over(4), table: 7)
        #expect(facts(Int(RTM_NEWROUTE), short) == [route(4, isMain: false)])
        let long = NetlinkBytes.over(4) + NetlinkBytes.attribute(Int(RTA_TABLE.rawValue), 51_820)
        #expect(facts(Int(RTM_NEWROUTE), NetlinkBytes.route(long, table: 252)) == [route(4, isMain: false)])
    }

    @Test("B21: a default route that replaces another also reports that default routes changed")
    func replaced() {
        let body = NetlinkBytes.route(NetlinkBytes.over(4))
        let reported = facts(Int(RTM_NEWROUTE), flags: NLM_F_REPLACE, body)
        #expect(reported == [route(4), .defaultRoutesChanged])
    }

    @Test("B21: all other routes are ignored, added or removed")
    func otherRoutes() {
        let over = NetlinkBytes.over(4)
        let others = [
            NetlinkBytes.route(over, prefix: 24), NetlinkBytes.route(over, type: Int(RTN_UNREACHABLE)),
            NetlinkBytes.route(over, flags: RTM_F_CLONED), NetlinkBytes.route(over, family: AF_DECnet),
        ]
        for body in others {
            #expect(facts(Int(RTM_NEWROUTE), flags: NLM_F_REPLACE, body) == [])
            #expect(facts(Int(RTM_DELROUTE), body) == [])
        }
    }

    @Test("B21: the flag bits in the type of an attribute are ignored", arguments: [0x8000, 0x4000, 0xC000])
    func markedAttributes(mark: Int) {
        let hop = NetlinkBytes.attribute(Int(RTA_OIF.rawValue) | mark, 4)
        let metric = NetlinkBytes.attribute(Int(RTA_PRIORITY.rawValue) | mark, 600)
        #expect(facts(Int(RTM_NEWROUTE), NetlinkBytes.route(hop + metric)) == [route(4, metric: 600)])
        let hops = NetlinkBytes.hops([4, 5], mark: mark)
        #expect(facts(Int(RTM_NEWROUTE), NetlinkBytes.route(hops)) == [route(4), route(5)])
        let own = NetlinkBytes.attribute(IFA_LOCAL | mark, host)
        let address = NetworkAddress(family: UInt8(AF_INET), bytes: host, prefixLength: 24)
        let body = NetlinkBytes.address(3, [10, 0, 0, 1], more: own)
        #expect(facts(Int(RTM_NEWADDR), body) == [.address(index: 3, address)])
    }

    @Test("B21: an attribute whose type differs in any other bit is another attribute", arguments: 5..<14)
    func otherAttributes(bit: Int) {
        let other = NetlinkBytes.attribute(Int(RTA_OIF.rawValue) | 1 << bit, 4)
        #expect(facts(Int(RTM_NEWROUTE), NetlinkBytes.route(other)) == [])
    }

    // MARK: Lists

    @Test("B21: the end of a list, its refusal and its interruption are reported with its number")
    func lists() {
        let good = NetlinkBytes.bytes(Int32(0))
        let bad = NetlinkBytes.bytes(-EBUSY)
        #expect(read(NetlinkBytes.message(Int(NLMSG_DONE), number: 8)) == [.listEnded(8)])
        #expect(read(NetlinkBytes.message(Int(NLMSG_DONE), number: 8, good)) == [.listEnded(8)])
        #expect(read(NetlinkBytes.message(Int(NLMSG_DONE), number: 8, bad)) == [.listRefused(8)])
        #expect(read(NetlinkBytes.message(Int(NLMSG_ERROR), number: 9, bad)) == [.listRefused(9)])
        // An error message with code 0 is only an acknowledgement.
        #expect(read(NetlinkBytes.message(Int(NLMSG_ERROR), number: 9, good)) == [])
        let interrupted = NetlinkBytes.message(Int(NLMSG_DONE), flags: NLM_F_DUMP_INTR, number: 8, good)
        #expect(read(interrupted) == [.listInterrupted(8), .listEnded(8)])
    }

    @Test("B21: several messages are reported in their order")
    func row() {
        let row =
            NetlinkBytes.message(Int(RTM_DELLINK), NetlinkBytes.link(1, name: "x"))
            + NetlinkBytes.message(Int(NLMSG_NOOP))
            + NetlinkBytes.message(Int(RTM_DELLINK), NetlinkBytes.link(2, name: "longer name"))
            + NetlinkBytes.message(Int(NLMSG_DONE), number: 3)
        #expect(read(row) == [.fact(.linkGone(index: 1)), .fact(.linkGone(index: 2)), .listEnded(3)])
    }

    private func facts(_ type: Int, flags: Int32 = 0, _ body: [UInt8]) -> [NetworkFact] {
        read(NetlinkBytes.message(type, flags: flags, body)).compactMap {
            guard case .fact(let fact) = $0 else { return nil }
            return fact
        }
    }
}

/// Tests bytes that no kernel should send.
@Suite struct NetlinkGarbageTests {
    @Test("B21: a datagram that ends within a message is reported as garbled, and the earlier messages count")
    func truncated() {
        let whole = NetlinkBytes.message(Int(RTM_DELLINK), NetlinkBytes.link(1, name: "x"))
        let cut = NetlinkBytes.message(Int(RTM_NEWLINK), NetlinkBytes.link(2, name: "wlan0"))
        for length in 1..<cut.count {
            #expect(read(whole + cut.prefix(length)) == [.fact(.linkGone(index: 1)), .garbled])
        }
        #expect(read([]) == [])
    }

    @Test(
        "B21: a message that is shorter than its header, or longer than the datagram, is reported as garbled",
        arguments: [0, 15, 61, .max])
    func lyingLength(length: UInt32) {
        var bytes = NetlinkBytes.message(Int(RTM_NEWLINK), NetlinkBytes.link(2, name: "wlan0"))
        #expect(bytes.count < 61)
        bytes.replaceSubrange(0..<4, with: NetlinkBytes.bytes(length))
        #expect(read(bytes) == [.garbled])
    }

    @Test("B21: a body that is too short for its kind is ignored")
    func shortBody() {
        let types = [RTM_NEWLINK, RTM_DELLINK, RTM_NEWADDR, RTM_DELADDR, RTM_NEWROUTE, RTM_DELROUTE].map { Int($0) }
        for type in types {
            for length in 0..<8 {
                #expect(read(NetlinkBytes.message(type, [UInt8](repeating: 0, count: length))) == [])
            }
        }
    }

    @Test("B21: an attribute with an impossible length ends the attributes", arguments: [0, 3, 200, .max])
    func lyingAttribute(length: UInt16) {
        let lie = NetlinkBytes.bytes(rtattr(rta_len: length, rta_type: UInt16(IFLA_MTU)))
        let name = NetlinkBytes.attribute(IFLA_IFNAME, [UInt8(ascii: "x")])
        let info = NetlinkBytes.bytes(ifinfomsg())
        #expect(read(NetlinkBytes.message(Int(RTM_NEWLINK), info + lie + name)) == [])
        #expect(read(NetlinkBytes.message(Int(RTM_NEWLINK), info + name + lie)).count == 1)
    }

    @Test("B21: a next hop with an impossible length ends the next hops", arguments: [0, 7])
    func lyingHop(length: UInt16) {
        var bytes = NetlinkBytes.hops([4, 5])
        let second = 4 + (bytes.count - 4) / 2
        bytes.replaceSubrange(second..<second + 2, with: NetlinkBytes.bytes(length))
        let reported = read(NetlinkBytes.message(Int(RTM_NEWROUTE), NetlinkBytes.route(bytes)))
        #expect(reported == [.fact(.defaultRoute(NetworkRoute(interface: 4, isMain: true, metric: 0)))])
    }

    @Test("X3: any input is read without a crash", arguments: Seeds.first(4))
    func fuzz(seed: Seed) {
        var chance = SeededRandom(seed: seed)
        let sound = Self.sound
        var table = NetworkTable()
        var facts = 0
        for _ in 0..<4_000 {
            var bytes = sound[Int.random(in: sound.indices, using: &chance)]
            for _ in 0..<Int.random(in: 0...4, using: &chance) {
                bytes[Int.random(in: bytes.indices, using: &chance)] = .random(in: 0...255, using: &chance)
            }
            for case .fact(let fact) in read(Array(bytes.prefix(.random(in: 0...bytes.count * 2, using: &chance)))) {
                table.take(fact)
                facts += 1
            }
            _ = table.state
        }
        // Most messages are correct enough to be decoded.
        #expect(facts > 1_000, "\(seed)")
    }

    private static var sound: [[UInt8]] {
        [
            NetlinkBytes.message(Int(RTM_NEWLINK), NetlinkBytes.link(2, name: "wlan0")),
            NetlinkBytes.message(Int(RTM_DELLINK), NetlinkBytes.link(2, name: "wlan0")),
            NetlinkBytes.message(Int(RTM_NEWADDR), NetlinkBytes.address(2, [192, 0, 2, 7], flags: 0)),
            NetlinkBytes.message(Int(RTM_DELADDR), NetlinkBytes.address(2, [UInt8](repeating: 7, count: 16))),
            NetlinkBytes.message(Int(RTM_NEWROUTE), NetlinkBytes.route(NetlinkBytes.hops([2, 3]))),
            NetlinkBytes.message(Int(RTM_NEWROUTE), NetlinkBytes.route(NetlinkBytes.over(2))),
            NetlinkBytes.message(Int(RTM_NEWLINK), NetlinkBytes.link(3, name: "a"))
                + NetlinkBytes.message(Int(NLMSG_DONE), number: 1, [0, 0, 0, 0]),
        ]
    }
}

private func read(_ datagram: [UInt8]) -> [NetlinkMessage] {
    let messages = NetlinkMessages { $0 == "wlan0" ? .wifi : .other }
    return datagram.withUnsafeBytes { messages.read($0) }
}
