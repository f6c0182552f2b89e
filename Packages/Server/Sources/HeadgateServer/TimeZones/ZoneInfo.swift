import Glibc
import HeadgateCore

/// The machine's time zones (Behaviour B24).
struct ZoneInfo: Sendable {
    /// The folder of the time zone database.
    var folder = "/usr/share/zoneinfo"
    /// The file of the machine's own zone.
    var localTime = "/etc/localtime"
    /// The value of `TZ` in the environment, which overrides the machine's own zone. Nil if it is not set.
    var environment = getenv("TZ").map { String(cString: $0) }

    /// The most bytes that are read of a file. It is more than any time zone has.
    private static let largest = 1 << 20

    /// Returns a time zone by its name (`Europe/Berlin`) or its POSIX form (`CET-1CEST,M3.5.0,M10.5.0/3`), or the
    /// machine's zone for nil. Returns nil if there is no such zone.
    func rules(_ name: String?) -> TimeZoneRules? {
        table(name)?.rules
    }

    /// Returns the table of a time zone, by the names that ``rules(_:)`` accepts. Returns nil if there is no such zone.
    func table(_ name: String?) -> TimeZoneTable? {
        guard let name else { return machine }
        // UTC is known even without the database.
        return named(name) ?? TimeZoneTable(posix: name) ?? (name == "UTC" ? .utc : nil)
    }

    /// The machine's zone, or UTC if its file cannot be read, as in the C library.
    private var machine: TimeZoneTable {
        guard let environment else { return read(localTime) ?? .utc }
        let name = environment.hasPrefix(":") ? String(environment.dropFirst()) : environment
        return (name.hasPrefix("/") ? read(name) : table(name)) ?? .utc
    }

    private func named(_ name: String) -> TimeZoneTable? {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        // A name must not lead out of the folder.
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
