import Glibc
import HeadgateCore

/// The machine's time zones (Behaviour B24).
struct ZoneInfo: Sendable {
    /// Where the time zone database is.
    var folder = "/usr/share/zoneinfo"
    /// The machine's own zone.
    var localTime = "/etc/localtime"
    /// What the environment says in `TZ`, which goes before the machine's own; nil when it says nothing.
    var environment = getenv("TZ").map { String(cString: $0) }

    /// More than any time zone takes.
    private static let largest = 1 << 20

    /// Finds a time zone by its name (`Europe/Berlin`) or its rules in POSIX's words (`CET-1CEST,M3.5.0,M10.5.0/3`), or
    /// the machine's for nil; nil when there is none.
    func rules(_ name: String?) -> TimeZoneRules? {
        table(name)?.rules
    }

    /// The table of such a zone.
    func table(_ name: String?) -> TimeZoneTable? {
        guard let name else { return machine }
        // UTC is there also where the database is not.
        return named(name) ?? TimeZoneTable(posix: name) ?? (name == "UTC" ? .utc : nil)
    }

    /// The machine's zone. As everywhere, it is UTC when what should say it cannot be read.
    private var machine: TimeZoneTable {
        guard let environment else { return read(localTime) ?? .utc }
        let place = environment.hasPrefix(":") ? String(environment.dropFirst()) : environment
        return (place.hasPrefix("/") ? read(place) : table(place)) ?? .utc
    }

    private func named(_ name: String) -> TimeZoneTable? {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        // No name leads out of the folder.
        let isName = parts.allSatisfy { $0.first?.isLetter == true && $0.utf8.allSatisfy(ZoneInfo.isAllowed) }
        guard isName else { return nil }
        return read("\(folder)/\(name)")
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private func read(_ path: String) -> TimeZoneTable? {
        guard let bytes = SmallFile(path).contents(upTo: ZoneInfo.largest) else { return nil }
        return try? TimeZoneTable(tzif: bytes)
    }
}
