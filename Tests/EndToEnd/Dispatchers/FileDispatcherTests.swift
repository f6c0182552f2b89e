import Foundation
import Testing

/// The `file` dispatcher.
@Suite struct FileDispatcherTests {
    @Test("K2: one delivered event per line, and a relative path is in the data directory")
    func lines() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon([
                "dispatchers": [
                    "collect": collector.dispatcher(), "archive": ["kind": "file", "path": "events.ndjson"],
                ]
            ])
            try await daemon.track(1...30, data: ["text": "über 1 Zeile\nnicht"])
            try await daemon.dispatcher("archive", until: "all is written") { $0["sent"].int == 30 }
            try await collector.acceptedIDs(atLeast: 30)
            let lines = try self.lines(of: daemon.dataPath + "/events.ndjson")
            #expect(lines == collector.accepted.flatMap(\.rawEvents))
        }
    }

    @Test("K2: an absolute path is used unchanged, and lines are appended")
    func absolutePath() async throws {
        try await withScene { scene in
            let path = try scene.directory.write("{\"id\":\"older\"}\n", to: "out.ndjson")
            let daemon = try await scene.daemon(["dispatchers": ["archive": ["kind": "file", "path": .string(path)]]])
            try await daemon.track(1...2)
            try await daemon.dispatcher("archive", until: "all is written") { $0["sent"].int == 2 }
            #expect(try lines(of: path).map { try JSON(parsing: $0)["id"] } == ["older", "e1", "e2"])
        }
    }

    @Test("K2: across SIGKILL no line is missing or torn")
    func killed() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(["dispatchers": ["archive": ["kind": "file", "path": "events.ndjson"]]])
            let socketPath = daemon.socketPath
            async let outcome = StubbornTracker(name: "k", count: 400, socketPath: socketPath).run()
            for kill in 1...2 {
                try await daemon.dispatcher("archive", until: "something is written") { ($0["sent"].int ?? 0) >= kill }
                try await daemon.killNow()
                try await daemon.start()
            }
            let acknowledged = try await outcome.acknowledged
            try await daemon.dispatcher("archive", until: "an empty queue") {
                $0["pending"].int == 0 && $0["in_flight"].int == 0
            }
            let events = try lines(of: daemon.dataPath + "/events.ndjson").map { try JSON(parsing: $0) }
            #expect(Set(events.compactMap { $0["id"].string }) == Set(acknowledged))
        }
    }

    @Test("K2: a file that cannot be written is retried like any other outage")
    func notWritable() async throws {
        try await withScene { scene in
            let folder = scene.directory.path("missing")
            let settings: JSON = [
                "kind": "file", "path": .string(folder + "/out.ndjson"), "backoff": ["base_ms": 20, "cap_ms": 50],
            ]
            // A file has the path of the folder.
            try scene.directory.write("", to: "missing")
            let daemon = try await scene.daemon(["dispatchers": ["archive": settings]])
            try await daemon.track(1...2)
            try await daemon.dispatcher("archive", until: "an attempt has failed") { $0["last_error"] != .null }
            try FileManager.default.removeItem(atPath: folder)
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try await daemon.dispatcher("archive", until: "all is written") { $0["sent"].int == 2 }
            #expect(try lines(of: folder + "/out.ndjson").count == 2)
        }
    }

    @Test(
        "K2, Q8: on a full disk the events are retried, no partial line stays, and freed room is used",
        .enabled(if: SmallDisk.isPossible, "needs root, to mount a small disk"))
    func fullDisk() async throws {
        try await withScene { scene in
            let disk = try SmallDisk(at: scene.directory.path("disk"))
            defer { disk.unmount() }
            let path = disk.path + "/out.ndjson"
            let settings: JSON = [
                "kind": "file", "path": .string(path), "byte_limit": 1_000_000,
                "backoff": ["base_ms": 20, "cap_ms": 50],
            ]
            let daemon = try await scene.daemon(["dispatchers": ["archive": settings]])
            try await daemon.track(1...1)
            try await daemon.dispatcher("archive", until: "the event is written") { $0["sent"].int == 1 }
            try disk.fill()
            try await daemon.pause("archive")
            try await daemon.track(2...9, data: ["text": .string(String(repeating: "x", count: 5_000))])
            try await daemon.resume("archive")
            let waiting = try await daemon.dispatcher("archive", until: "two failed attempts") {
                ($0["failed"].int ?? 0) >= 2
            }
            #expect(waiting.contains(["last_error": "no space left on device", "sent": 1, "dead": 0]))
            #expect(try lines(of: path).count == 1)
            try disk.makeRoom()
            try await daemon.dispatcher("archive", until: "all is written") { $0["sent"].int == 9 }
            #expect(try lines(of: path).map { try JSON(parsing: $0)["id"] } == (1...9).map { .string("e\($0)") })
        }
    }

    @Test("K2: events that could not be synced are unsettled, removed from the file, and written again")
    func syncBeforeSettling() async throws {
        try await withScene { scene in
            let fault = try await MachineFault.failingSync(in: scene.directory.path, of: "/out.ndjson")
            let path = scene.directory.path("out.ndjson")
            let settings: JSON = ["kind": "file", "path": .string(path), "backoff": ["base_ms": 20, "cap_ms": 50]]
            let daemon = scene.idleDaemon()
            daemon.environment = fault.environment
            try daemon.configure(["dispatchers": ["archive": settings]])
            try fault.set(true)
            try await daemon.start()
            try await daemon.track(1...3)
            let waiting = try await daemon.dispatcher("archive", until: "two failed attempts") {
                ($0["failed"].int ?? 0) >= 2
            }
            #expect(waiting.contains(["last_error": "input/output error", "sent": 0, "dead": 0]))
            try fault.set(false)
            try await daemon.dispatcher("archive", until: "all is written") { $0["sent"].int == 3 }
            #expect(try lines(of: path).map { try JSON(parsing: $0)["id"] } == ["e1", "e2", "e3"])
        }
    }

    @Test("K2: a directory at the file's path is reported, and after its removal everything is written")
    func directory() async throws {
        try await withScene { scene in
            let path = scene.directory.path("out.ndjson")
            let settings: JSON = [
                "kind": "file", "path": .string(path), "backoff": ["base_ms": 20, "cap_ms": 50],
            ]
            let daemon = try await scene.daemon(["dispatchers": ["archive": settings]])
            try? FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try await daemon.track(1...3)
            try await daemon.dispatcher("archive", until: "the cause is shown") { $0["last_error"] == "is a directory" }
            try FileManager.default.removeItem(atPath: path)
            let done = try await daemon.dispatcher("archive", until: "all is written") { $0["sent"].int == 3 }
            #expect(done.contains(["dead": 0, "last_error": .null]))
            #expect(try lines(of: path).count == 3)
        }
    }

    @Test("K2: rotate_bytes and keep limit the files in whole lines, and rotate_s counts from the file's creation")
    func rotation() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon([
                "dispatchers": [
                    "archive": [
                        "kind": "file", "path": "events.ndjson", "rotate_bytes": 2_000, "keep": 2, "dispatch_limit": 1,
                    ],
                    "hourly": ["kind": "file", "path": "hourly.ndjson", "rotate_s": 3_600],
                ]
            ])
            try await daemon.track(1...60)
            for id in ["archive", "hourly"] {
                try await daemon.dispatcher(id, until: "all is written") { $0["sent"].int == 60 }
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: daemon.dataPath)
            #expect(
                Set(names.filter { $0.contains("ndjson") })
                    == ["events.ndjson", "events.ndjson.1", "events.ndjson.2", "hourly.ndjson"])
            let kept = try [".2", ".1", ""].flatMap { try lines(of: daemon.dataPath + "/events.ndjson" + $0) }
            #expect(try kept.map { try JSON(parsing: $0)["id"].string } == (61 - kept.count...60).map { "e\($0)" })
            #expect(try lines(of: daemon.dataPath + "/hourly.ndjson").count == 60)
        }
    }

    private func lines(of path: String) throws -> [String] {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.hasSuffix("\n"))
        return text.split(separator: "\n").map(String.init)
    }
}
