import CNetlink
import Foundation
import HeadgateCore
import Testing

@testable import HeadgateServer

/// Tests the kinds of interfaces, with an imitation of sysfs.
@Suite struct InterfaceKindsTests {
    private let sysfs: ScratchFolder

    init() throws {
        sysfs = try ScratchFolder()
    }

    /// Makes the files of an interface.
    /// - Parameter type: the hardware type of `<linux/if_arp.h>`, or nil for no `type` file.
    private func make(_ name: String, type: Int32?, uevent: String = "", folders: [String] = []) throws {
        for folder in ["\(name)"] + folders.map({ "\(name)/\($0)" }) {
            try FileManager.default.createDirectory(atPath: sysfs(folder), withIntermediateDirectories: true)
        }
        try sysfs.write(uevent, to: "\(name)/uevent")
        if let type { try sysfs.write("\(type)\n", to: "\(name)/type") }
    }

    private func kind(_ name: String, _ overrides: [String: ConnectionKind] = [:]) -> ConnectionKind {
        InterfaceKinds(overrides: overrides, root: sysfs.path).kind(of: name)
    }

    @Test("B21: an Ethernet card is ethernet, and so is a bridge")
    func ethernet() throws {
        try make("eth0", type: ARPHRD_ETHER, uevent: "INTERFACE=eth0\nIFINDEX=2\n")
        try make("br0", type: ARPHRD_ETHER, uevent: "DEVTYPE=bridge\nINTERFACE=br0\n")
        #expect(kind("eth0") == .ethernet)
        #expect(kind("br0") == .ethernet)
    }

    @Test("B21: Wi-Fi shows by `wireless`, by `phy80211` or by its device type, although its hardware is Ethernet")
    func wifi() throws {
        try make("wlan0", type: ARPHRD_ETHER, folders: ["wireless"])
        try make("wlp3s0", type: ARPHRD_ETHER, folders: ["phy80211"])
        try make("wlx0", type: ARPHRD_ETHER, uevent: "DEVTYPE=wlan\nINTERFACE=wlx0\n")
        #expect(["wlan0", "wlp3s0", "wlx0"].map { kind($0) } == [.wifi, .wifi, .wifi])
    }

    @Test("B21: a mobile modem is cellular, whether it looks like Ethernet, like PPP or like neither")
    func cellular() throws {
        try make("wwan0", type: ARPHRD_ETHER, uevent: "INTERFACE=wwan0\nDEVTYPE=wwan\n")
        try make("ppp0", type: ARPHRD_PPP, uevent: "DEVTYPE=ppp\n")
        try make("rmnet0", type: ARPHRD_RAWIP)
        #expect(["wwan0", "ppp0", "rmnet0"].map { kind($0) } == [.cellular, .cellular, .cellular])
    }

    @Test("B21: a tunnel, and an interface unknown to sysfs, is other")
    func other() throws {
        try make("tun0", type: ARPHRD_NONE)
        try make("odd0", type: nil)
        try make("odd1", type: nil)
        try sysfs.write("nonsense", to: "odd1/type")
        #expect(["tun0", "odd0", "odd1", "absent0"].map { kind($0) } == [.other, .other, .other, .other])
    }

    @Test("B21: settings override sysfs, also for an interface that sysfs does not know")
    func overrides() throws {
        try make("eth0", type: ARPHRD_ETHER)
        #expect(kind("eth0", ["eth0": .cellular]) == .cellular)
        #expect(kind("eth0", ["eth1": .cellular]) == .ethernet)
        #expect(kind("absent0", ["absent*": .wifi]) == .wifi)
    }

    @Test("B21: an exact name wins, then the longest prefix, and a star may match the empty string")
    func patterns() throws {
        let overrides: [String: ConnectionKind] = [
            "*": .other, "ww*": .ethernet, "wwan*": .cellular, "wwan7": .wifi, "wwan": .other,
        ]
        #expect(kind("wwan7", overrides) == .wifi)
        #expect(kind("wwan0", overrides) == .cellular)
        #expect(kind("wwan", overrides) == .other)
        #expect(kind("wwp0", overrides) == .ethernet)
        #expect(kind("eth0", overrides) == .other)
        #expect(kind("tun0", ["tun0*": .wifi]) == .wifi)
    }

    @Test("B21: loopback in the machine's own sysfs has the kind other")
    func realSysfs() {
        #expect(InterfaceKinds().kind(of: "lo") == .other)
    }
}
