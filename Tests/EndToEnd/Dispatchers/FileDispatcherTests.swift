import Foundation
import Testing

/// The `file` dispatcher.
@Suite struct FileDispatcherTests {
    @Test("K2: one event a line, as it is delivered elsewhere; a relative path is in the data directory")
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

    @Test("K2: an absolute path is taken as it is; lines are added to what is there")
    func absolutePath() async throws {
        try await withScene { scene in
            let path = try scene.directory.write("{\"id\":\"older\"}\n", to: "out.ndjson")
            let daemon = try await scene.daemon(["dispatchers": ["archive": ["kind": "file", "path": .string(path)]]])
            try await daemon.track(1...2)
            try await daemon.dispatcher("archive", until: "all is written") { $0["sent"].int == 2 }
            #expect(try lines(of: path).map { try JSON(parsing: $0)["id"] } == ["older", "e1", "e2"])
        }
    }

    @Test("K2: over kill -9 no line is missing and none is torn")
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
            // A file stands where the folder should be.
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

    private func lines(of path: String) throws -> [String] {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.hasSuffix("\n"))
        return text.split(separator: "\n").map(String.init)
    }
}
