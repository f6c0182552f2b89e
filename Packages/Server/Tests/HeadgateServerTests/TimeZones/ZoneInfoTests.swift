import Foundation
import HeadgateCore
import Testing

@testable import HeadgateServer

@Suite("The machine's time zones")
struct ZoneInfoTests {
    private let folder: ScratchFolder
    private let winter = "CET-1"
    private let far = "<+13>-13"

    init() throws {
        folder = try ScratchFolder()
    }

    /// Returns the zones of a machine with a zone `Far/Away` and a local zone.
    private func zoneInfo(environment: String? = nil) throws -> ZoneInfo {
        let zones = URL(fileURLWithPath: folder.path).appendingPathComponent("zoneinfo/Far")
        try FileManager.default.createDirectory(at: zones, withIntermediateDirectories: true)
        try file(far).write(to: zones.appendingPathComponent("Away"))
        try file(far).write(to: URL(fileURLWithPath: folder.path).appendingPathComponent("Secret"))
        try Data("no zone".utf8).write(to: zones.appendingPathComponent("Broken"))
        try file(winter).write(to: URL(fileURLWithPath: folder.path).appendingPathComponent("localtime"))
        var zoneInfo = ZoneInfo()
        zoneInfo.folder = folder.path + "/zoneinfo"
        zoneInfo.localTime = folder.path + "/localtime"
        zoneInfo.environment = environment
        return zoneInfo
    }

    /// Returns a time zone file that has only a footer.
    private func file(_ footer: String) -> Data {
        let counts = [UInt8](repeating: 0, count: 16) + [0, 0, 0, 1, 0, 0, 0, 1]
        let block = Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15) + counts + [UInt8](repeating: 0, count: 7)
        return Data(block + block + Array("\n\(footer)\n".utf8))
    }

    @Test("B24: a zone is found by its name")
    func named() throws {
        let zoneInfo = try zoneInfo()
        #expect(zoneInfo.table("Far/Away") == (try table(far)))
        #expect(zoneInfo.table("UTC") == .utc)
        #expect(zoneInfo.table("CET-1CEST,M3.5.0,M10.5.0/3") == TimeZoneTable(posix: "CET-1CEST,M3.5.0,M10.5.0/3"))
    }

    @Test(
        "B24, X4: a name outside the database is not a zone, whatever files exist",
        arguments: [
            "", "Far", "Far/Broken", "Far/Nowhere", "../Secret", "Far/../../Secret", "/etc/localtime", "Far//Away",
            "Far/./Away", "Far/Away/", "Far/Away\0", "Fär/Away",
        ])
    func unknown(name: String) throws {
        #expect(try zoneInfo().table(name) == nil)
    }

    @Test("B24: the machine's zone is that of TZ, else that of /etc/localtime, else UTC")
    func machine() throws {
        #expect(try zoneInfo().table(nil) == table(winter))
        #expect(try zoneInfo(environment: "Far/Away").table(nil) == table(far))
        #expect(try zoneInfo(environment: ":Far/Away").table(nil) == table(far))
        #expect(try zoneInfo(environment: folder.path + "/Secret").table(nil) == table(far))
        #expect(try zoneInfo(environment: "Nowhere").table(nil) == .utc)
        #expect(try zoneInfo(environment: "").table(nil) == .utc)
        var bare = try zoneInfo()
        bare.localTime = folder.path + "/nothing"
        #expect(bare.table(nil) == .utc)
    }

    private func table(_ footer: String) throws -> TimeZoneTable {
        try TimeZoneTable(tzif: Array(file(footer)))
    }
}
