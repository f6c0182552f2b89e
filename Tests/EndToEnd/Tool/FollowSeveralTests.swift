import Foundation
import Testing

/// `headgate send --follow` with several files and patterns.
@Suite struct FollowSeveralTests {
    private func line(_ number: Int) -> String { "{\"event\":\"e\",\"data\":{\"n\":\(number)}}\n" }

    private func append(_ text: String, to path: String) throws {
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        defer { try? file.close() }
        try file.seekToEnd()
        try file.write(contentsOf: Data(text.utf8))
    }

    private func start(_ names: [String], _ daemon: Daemon, in scene: Scene, run: Int = 0) throws -> ChildProcess {
        try ChildProcess(
            BuiltProducts.path(of: "headgate"),
            ["send", "--socket", daemon.socketPath] + names.flatMap { ["--follow", $0] },
            environment: ["STATE_DIRECTORY": scene.directory.path("state")],
            outputPath: scene.directory.path("out\(run)"), errorPath: scene.directory.path("err\(run)"))
    }

    private func numbers(_ collector: Collector, atLeast count: Int) async throws -> [Int] {
        try await eventually("\(count) events") {
            let events = collector.accepted.flatMap(\.events)
            return events.count >= count ? events.compactMap { $0["data"]["n"].int }.sorted() : nil
        }
    }

    @Test("L1: files and patterns are followed together, also files that come later, each line once over restarts")
    func together() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let path = { scene.directory.path($0) }
            try append(line(1), to: path("one.txt"))
            try append(line(2), to: path("a.log"))
            let names = [path("one.txt"), path("*.log")]
            var follower = try start(names, daemon, in: scene)
            #expect(try await numbers(collector, atLeast: 2) == [1, 2])
            try append(line(3), to: path("b.log"))
            #expect(try await numbers(collector, atLeast: 3) == [1, 2, 3])
            follower.signal(SIGTERM)
            #expect(try await follower.exitCode() == 0)
            for (number, file) in [(4, "one.txt"), (5, "a.log"), (6, "b.log"), (7, "c.log")] {
                try append(line(number), to: path(file))
            }
            follower = try start(names, daemon, in: scene, run: 1)
            #expect(try await numbers(collector, atLeast: 7) == Array(1...7))
            follower.signal(SIGTERM)
            #expect(try await follower.exitCode() == 0)
        }
    }

    @Test("L5: a file in another format is no longer followed, the others are, and the exit code is 1 at the end")
    func foreign() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let path = { scene.directory.path($0) }
            try append(String(repeating: "no event\n", count: 100), to: path("a.log"))
            try append(line(1), to: path("b.log"))
            let follower = try start([path("*.log")], daemon, in: scene)
            #expect(try await numbers(collector, atLeast: 1) == [1])
            _ = try await eventually("the report about a.log") {
                follower.errorOutput.contains("a.log is no longer followed: ") ? true : nil
            }
            try append(line(2), to: path("b.log"))
            #expect(try await numbers(collector, atLeast: 2) == [1, 2])
            follower.signal(SIGTERM)
            #expect(try await follower.exitCode() == 1)
        }
    }

    @Test("--state belongs to one file")
    func state() async throws {
        try await withScene { scene in
            let run = try await CommandLineTool.run(
                ["send", "--follow", "*.none", "--state", "x"], in: scene.directory.path("."))
            #expect(run.exitCode == 2 && run.errorOutput.contains("--state needs a single file"))
        }
    }
}
