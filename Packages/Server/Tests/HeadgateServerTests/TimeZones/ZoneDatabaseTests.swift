import Foundation
import Testing

@testable import HeadgateServer

/// The machine's time zone database, where it has one.
enum ZoneDatabase {
    static let folder = "/usr/share/zoneinfo"
    static let exists = FileManager.default.fileExists(atPath: "\(folder)/Europe/Berlin")
    static let zones = [
        "Africa/Casablanca", "Africa/Monrovia", "America/New_York", "America/Nuuk", "America/Sao_Paulo",
        "America/St_Johns", "Antarctica/Troll", "Asia/Gaza", "Asia/Kathmandu", "Asia/Tokyo", "Australia/Lord_Howe",
        "Australia/Sydney", "Europe/Berlin", "Europe/Dublin", "Europe/London", "Pacific/Apia", "Pacific/Auckland",
        "Pacific/Chatham", "Pacific/Kiritimati", "UTC",
    ]
}

@Suite("Time zone database", .enabled(if: ZoneDatabase.exists))
struct ZoneDatabaseTests {
    @Test("B24: our offsets are those of the C library, in every zone and at any time")
    func offsets() throws {
        let before = getenv("TZ").map { String(cString: $0) }
        defer {
            if let before { setenv("TZ", before, 1) } else { unsetenv("TZ") }
            tzset()
        }
        for zone in ZoneDatabase.zones {
            let file = try Data(contentsOf: URL(fileURLWithPath: "\(ZoneDatabase.folder)/\(zone)"))
            let rules = try TimeZoneTable(tzif: Array(file))
            setenv("TZ", zone, 1)
            tzset()
            for moment in moments(around: rules) {
                #expect(rules.offset(at: moment) == Self.offset(at: moment), "\(zone) at \(moment)")
            }
        }
    }

    /// Every second transition with its neighbours, and moments of two centuries.
    private func moments(around rules: TimeZoneTable) -> [Int64] {
        let edges = rules.transitions.suffix(200).flatMap { [$0.seconds - 1, $0.seconds, $0.seconds + 1] }
        return edges + stride(from: Int64(-1_500_000_000), to: 5_000_000_000, by: 9_999_991)
    }

    private static func offset(at moment: Int64) -> Int {
        var (time, fields) = (time_t(moment), tm())
        localtime_r(&time, &fields)
        return fields.tm_gmtoff
    }
}
