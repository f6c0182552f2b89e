import Foundation
import Testing

/// Disks that are full or read-only, and data written by a newer version.
@Suite struct DiskTests {
    @Test(
        "Q8: on a full disk events are refused with storage, and accepted without a restart when there is room",
        .enabled(if: SmallDisk.isPossible, "needs root, to mount a small disk"), arguments: ["log", "sqlite"])
    func fullDisk(_ kind: String) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = scene.idleDaemon()
            let disk = try SmallDisk(at: daemon.dataPath)
            defer { disk.unmount() }
            try daemon.configure([
                "dispatchers": ["collect": collector.dispatcher()], "store": ["kind": .string(kind)],
            ])
            try await daemon.start()
            try await daemon.pause()
            try await daemon.track(1...5)
            try disk.fill()
            let client = try await daemon.connect()
            let refusal = try await refused(client)
            #expect(refusal["data"]["reason"] == "storage")
            let refuses = { try await daemon.warnings().contains { $0.hasPrefix("the event store refused") } }
            #expect(try await refuses())
            let resuming = try await client.answer(to: client.request("dispatcher.resume", ["id": "collect"]))
            // A log reserves space for such changes. A database does not, but the dispatcher is resumed anyway.
            #expect(resuming["error"]["data"]["reason"] == (kind == "log" ? .null : "storage"))
            #expect(try await collector.acceptedIDs(atLeast: 5).prefix(5) == ["e1", "e2", "e3", "e4", "e5"])

            try disk.makeRoom()
            try await eventually("an event is accepted") {
                (try? await client.result("track", ["event": "after", "id": "after"])) != nil
            }
            let after = try await eventually("the event is delivered") {
                collector.acceptedIDs.contains("after") ? collector.acceptedIDs : nil
            }
            #expect(!after.contains("refused"))
            #expect(try await !refuses())
            #expect(try await daemon.stop() == 0)
        }
    }

    /// Tracks large events until one is refused, and returns the error.
    private func refused(_ client: LineClient) async throws -> JSON {
        let large: JSON = ["text": .string(String(repeating: "x", count: 100_000))]
        for _ in 0..<100 {
            let id = try await client.request("track", ["event": "large", "data": large])
            let answer = try await client.answer(to: id)
            if answer["error"] != .null { return answer["error"] }
        }
        throw NeverHappened("a refusal", details: "100 large events went on a full disk")
    }

    @Test(
        "Q8: a start with a read-only data directory fails with that error",
        .enabled(if: SmallDisk.isPossible, "needs root, to mount a small disk"))
    func readOnly() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            let disk = try SmallDisk(at: daemon.dataPath)
            defer { disk.unmount() }
            try disk.makeReadOnly()
            try daemon.configure(["dispatchers": ["collect": scene.collector().dispatcher()]])
            #expect(try await daemon.run() > 0)
            try await daemon.logs(daemon.dataPath)
            #expect(daemon.log.lowercased().contains("read-only"))
        }
    }

    @Test(
        "Q11: a store of another version is refused with a clear message, and stays unchanged",
        arguments: ["log": 8, "sqlite": 63])
    func newerVersion(_ kind: String, _ offset: Int) async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            try daemon.configure([
                "dispatchers": ["collect": scene.collector(listening: false).dispatcher()],
                "store": ["kind": .string(kind)],
            ])
            try await daemon.start()
            try await daemon.track(1...3)
            #expect(try await daemon.stop() == 0)
            let path = daemon.dataPath + (kind == "log" ? "/log/000001.log" : "/events.db")
            var bytes = try #require(FileManager.default.contents(atPath: path))
            bytes[offset] = 0x7F
            try bytes.write(to: URL(fileURLWithPath: path))
            #expect(try await daemon.run() > 0)
            try await daemon.logs("it was not changed")
            #expect(FileManager.default.contents(atPath: path) == bytes)
        }
    }
}
