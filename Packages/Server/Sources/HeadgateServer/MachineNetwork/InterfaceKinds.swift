import CNetlink
import Glibc
import HeadgateCore

/// The connection kinds of network interfaces: from the settings by the interface's name, else from sysfs (Behaviour
/// B21).
struct InterfaceKinds {
    /// Kinds by interface name, or by a prefix and `*`. An exact name wins, then the longest prefix.
    let overrides: [String: ConnectionKind]
    /// The folder of sysfs that lists the interfaces.
    let root: String

    init(overrides: [String: ConnectionKind] = [:], root: String = "/sys/class/net") {
        self.overrides = overrides
        self.root = root
    }

    func kind(of name: String) -> ConnectionKind {
        overridden(name) ?? fromSysfs(name)
    }

    private func overridden(_ name: String) -> ConnectionKind? {
        if let exact = overrides[name] { return exact }
        let patterns = overrides.keys.filter { $0.last == "*" && name.hasPrefix($0.dropLast()) }
        return patterns.max { $0.utf8.count < $1.utf8.count }.flatMap { overrides[$0] }
    }

    private func fromSysfs(_ name: String) -> ConnectionKind {
        let folder = "\(root)/\(name)"
        if exists("\(folder)/wireless") || exists("\(folder)/phy80211") { return .wifi }
        switch deviceType(folder) {
        case "wlan": return .wifi
        case "wwan": return .cellular
        default: break
        }
        switch hardwareType(folder) {
        case Int(ARPHRD_ETHER): return .ethernet
        case Int(ARPHRD_PPP), Int(ARPHRD_RAWIP): return .cellular
        default: return .other
        }
    }

    /// Returns `DEVTYPE` of the interface's `uevent` file.
    private func deviceType(_ folder: String) -> String? {
        let key = "DEVTYPE="
        return contents("\(folder)/uevent")?.split(separator: "\n")
            .first { $0.hasPrefix(key) }
            .map { String($0.dropFirst(key.count)) }
    }

    private func hardwareType(_ folder: String) -> Int? {
        contents("\(folder)/type").flatMap { Int($0.prefix { $0.isNumber }) }
    }

    private func exists(_ path: String) -> Bool {
        access(path, F_OK) == 0
    }

    private func contents(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &bytes, bytes.count)
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
