import Foundation
import Testing

/// `headgate send --follow`.
@Suite struct FollowTests {
    /// A file that grows, and who follows it.
    private final class Trail {
        let path: String
        private let daemon: Daemon
        private var runs = 0
        private(set) var follower: ChildProcess?

        init(_ scene: Scene, _ daemon: Daemon) {
            path = scene.directory.path("trail.ndjson")
            self.daemon = daemon
        }

        func follow() throws {
            runs += 1
            let arguments = ["send", "--follow", path, "--socket", daemon.socketPath]
            let output = path + ".run\(runs)"
            follower = try ChildProcess(
                BuiltProducts.path(of: "headgate"), arguments, outputPath: output, errorPath: output)
        }

        func stop(_ signal: Int32) async throws -> Int32? {
            follower?.signal(signal)
            return try await follower?.exitCode()
        }

        func append(_ text: String) throws {
            let descriptor = try SystemError.check(open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600), "open")
            try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: Data(text.utf8))
        }

        func append(_ numbers: ClosedRange<Int>) throws {
            try append(numbers.map { #"{"event":"line","data":{"n":\#($0)}}"# + "\n" }.joined())
        }
    }

    /// The numbers of the lines that were stored, in their order: an event that was stored twice has two numbers of its own.
    private func stored(_ collector: Collector, atLeast count: Int) async throws -> [Int] {
        try await eventually("\(count) lines") {
            var numbers: [Int: Int] = [:]
            for event in collector.accepted.flatMap(\.events) {
                numbers[event["seq"].int ?? 0] = event["data"]["n"].int
            }
            return numbers.count >= count ? numbers.sorted { $0.key < $1.key }.map(\.value) : nil
        }
    }

    private func withTrail(_ body: (Trail, Daemon, Collector, Scene) async throws -> Void) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let trail = scene.keep(Trail(scene, daemon))
            try await body(trail, daemon, collector, scene)
            trail.follower?.discard()
        }
    }

    @Test("Lines are tracked as they come; bad ones are told and skipped; SIGTERM ends it, and it goes on where it was")
    func grows() async throws {
        try await withTrail { trail, _, collector, _ in
            try trail.follow()
            try trail.append(1...10)
            #expect(try await stored(collector, atLeast: 10) == Array(1...10))
            try trail.append("no json\n\n{\"event\":\"\"}\n{\"event\":\"line\",")
            try trail.append("\"data\":{\"n\":11}}\n")
            #expect(try await stored(collector, atLeast: 11) == Array(1...11))
            #expect(try await trail.stop(SIGTERM) == 0)
            let told = trail.follower?.errorOutput ?? ""
            #expect(told.contains("trail.ndjson, byte 3") && told.split(separator: "\n").count == 2, "\(told)")
            try trail.append(12...20)
            try trail.follow()
            #expect(try await stored(collector, atLeast: 20) == Array(1...20))
        }
    }

    @Test("kill -9 of either side, again and again: each line is stored once")
    func killed() async throws {
        try await withTrail { trail, daemon, collector, _ in
            try trail.append(1...1_000)
            for round in 1...4 {
                try trail.follow()
                _ = try await stored(collector, atLeast: round * 100)
                if round % 2 == 0 {
                    try await daemon.killNow()
                    try await daemon.start()
                }
                _ = try await trail.stop(SIGKILL)
                try trail.append((1_000 * round + 1)...(1_000 * (round + 1)))
            }
            try trail.follow()
            #expect(try await stored(collector, atLeast: 5_000) == Array(1...5_000))
        }
    }

    @Test("A file that is renamed is read to its end, then the new one; one that is emptied is read anew")
    func rotated() async throws {
        try await withTrail { trail, _, collector, _ in
            try trail.append(1...5)
            try trail.follow()
            _ = try await stored(collector, atLeast: 5)
            let old = try FileHandle(forWritingTo: URL(filePath: trail.path))
            try FileManager.default.moveItem(atPath: trail.path, toPath: trail.path + ".1")
            try trail.append(7...8)
            try old.seekToEnd()
            try old.write(contentsOf: Data(#"{"event":"line","data":{"n":6}}"#.utf8))
            #expect(try await stored(collector, atLeast: 8) == Array(1...8))
            // As copytruncate does.
            let file = try FileHandle(forWritingTo: URL(filePath: trail.path))
            try file.truncate(atOffset: 0)
            try trail.append(9...20)
            #expect(try await stored(collector, atLeast: 20) == Array(1...20))
            #expect(try await trail.stop(SIGTERM) == 0)
        }
    }

    @Test("A file that was renamed while nobody followed is found, and read on before the new one")
    func rotatedMeanwhile() async throws {
        try await withTrail { trail, _, collector, _ in
            try trail.append(1...5)
            try trail.follow()
            _ = try await stored(collector, atLeast: 5)
            _ = try await trail.stop(SIGKILL)
            try trail.append(6...9)
            try FileManager.default.moveItem(atPath: trail.path, toPath: trail.path + "-20260301")
            try trail.append(10...12)
            try trail.follow()
            #expect(try await stored(collector, atLeast: 12) == Array(1...12))
        }
    }

    @Test("What a full store refuses goes again until there is room")
    func fullStore() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: ["store": ["max_events": 10]])
            try await daemon.pause()
            let trail = scene.keep(Trail(scene, daemon))
            try trail.append(1...15)
            try trail.follow()
            try await eventually("a full store") { try await daemon.ask("status")["store"]["events"] == 10 }
            try await daemon.resume()
            #expect(try await stored(collector, atLeast: 15).sorted() == Array(1...15))
            #expect(try await trail.stop(SIGTERM) == 0)
        }
    }

    @Test("A pipe cannot be read again, and is refused; send --stdin reads it, also when its writers come and go")
    func pipe() async throws {
        try await withTrail { trail, daemon, collector, scene in
            #expect(mkfifo(trail.path, 0o600) == 0)
            try trail.follow()
            #expect(try await trail.follower?.exitCode() == 1)
            #expect(trail.follower?.errorOutput.contains("--stdin <>") == true)
            let tool = try BuiltProducts.path(of: "headgate")
            let command = "exec \(tool) send --stdin --socket \(daemon.socketPath) <>\(trail.path)"
            let output = scene.directory.path("reader")
            let reader = scene.keep(
                try ChildProcess("/bin/sh", ["-c", command], outputPath: output, errorPath: output))
            for number in 1...3 {
                try trail.append(number...number)
                #expect(try await stored(collector, atLeast: number) == Array(1...number))
            }
            #expect(reader.isRunning)
        }
    }
}
