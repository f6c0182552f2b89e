import Foundation
import Testing

/// A data directory whose file is no database any more.
@Suite struct DamagedFileTests {
    @Test("Q8: a damaged file is set aside and told of, and the daemon goes on with a fresh one, its numbers ahead")
    func setAside() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let before = try await daemon.ask("track", ["event": "before"])
            try await collector.acceptedIDs(atLeast: 1)
            #expect(try await daemon.stop() == 0)
            let damaged = Data(repeating: 0x5A, count: 8192)
            try damaged.write(to: URL(fileURLWithPath: daemon.dataPath + "/events.db"))

            try await daemon.start()
            let after = try await daemon.ask("track", ["event": "after"])
            #expect(try #require(after["seq"].int) > (try #require(before["seq"].int)))
            try await eventually("what came afterwards") { collector.acceptedIDs.last == after["id"].string }
            let names = try FileManager.default.contentsOfDirectory(atPath: daemon.dataPath)
            let aside = try #require(names.first { $0.hasPrefix("events.db.damaged-") && !$0.contains("wal") })
            #expect(FileManager.default.contents(atPath: daemon.dataPath + "/" + aside) == damaged)
            let warnings = try await daemon.ask("status")["warnings"].description
            #expect(warnings.contains("damaged"), "\(warnings)")
        }
    }
}
