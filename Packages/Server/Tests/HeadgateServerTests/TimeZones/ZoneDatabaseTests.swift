import Foundation
import Testing

@testable import HeadgateServer

/// The machine's time zone database, if it has one.
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
    /// The C library's zone is that of the environment, so this test changes the environment in a process of its own.
    @Test("B24: zone offsets equal those of the C library, in every zone and at any time")
    func offsets() async {
        await #expect(processExitsWith: .success) {
            for zone in ZoneDatabase.zones {
                let file = try Data(contentsOf: URL(fileURLWithPath: "\(ZoneDatabase.folder)/\(zone)"))
                let rules = try TimeZoneTable(tzif: Array(file))
                setenv("TZ", zone, 1)
                tzset()
                let wrong = ZoneDatabaseTests.moments(around: rules).filter {
                    rules.offset(at: $0) != ZoneDatabaseTests.offset(at: $0)
                }
                guard wrong.isEmpty else { throw WrongOffsets(zone: zone, moments: Array(wrong.prefix(5))) }
            }
        }
    }

    private struct WrongOffsets: Error {
        let zone: String
        let moments: [Int64]
    }

    /// Returns the last 200 transitions, each with the seconds before and after it, and times from 1922 to 2128.
    private static func moments(around rules: TimeZoneTable) -> [Int64] {
        let edges = rules.transitions.suffix(200).flatMap { [$0.seconds - 1, $0.seconds, $0.seconds + 1] }
        return edges + stride(from: Int64(-1_500_000_000), to: 5_000_000_000, by: 9_999_991)
    }

    private static func offset(at moment: Int64) -> Int {
        var (time, fields) = (time_t(moment), tm())
        localtime_r(&time, &fields)
        return fields.tm_gmtoff
    }
}
