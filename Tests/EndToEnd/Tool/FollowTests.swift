import Foundation
import Testing

/// `headgate send --follow`.
@Suite struct FollowTests {
    @Test(
        "Lines are tracked as they appear, invalid ones are reported and skipped, and after SIGTERM it continues at its position"
    )
    func grows() async throws {
        try await withTrail { trail, _, _ in
            try trail.follow()
            try trail.append(1...10)
            try await trail.expect(1...10)
            try trail.append("no json\n\n{\"event\":\"\"}\n{\"event\":\"line\",")
            try trail.append("\"data\":{\"n\":11}}\n")
            try await trail.expect(1...11)
            #expect(try await trail.stop(SIGTERM) == 0)
            let reported = trail.follower?.errorOutput ?? ""
            #expect(
                reported.contains("trail.ndjson, byte 3") && reported.split(separator: "\n").count == 2, "\(reported)")
            try trail.append(12...20)
            try trail.follow()
            try await trail.expect(1...20)
        }
    }

    @Test("Repeated SIGKILLs of either side store each line once")
    func killed() async throws {
        try await withTrail { trail, daemon, _ in
            try trail.append(1...1_000)
            for round in 1...4 {
                try trail.follow()
                _ = try await trail.stored(atLeast: round * 100)
                if round % 2 == 0 {
                    try await daemon.killNow()
                    try await daemon.start()
                }
                _ = try await trail.stop(SIGKILL)
                try trail.append((1_000 * round + 1)...(1_000 * (round + 1)))
            }
            try trail.follow()
            try await trail.expect(1...5_000)
        }
    }

    @Test("A renamed file is read to its end before the new one, and an emptied file is read from its beginning")
    func rotated() async throws {
        try await withTrail { trail, _, _ in
            try await trail.follow(from: 1...5)
            let old = try FileHandle(forWritingTo: URL(filePath: trail.path))
            try trail.rename(to: ".1")
            try trail.append(7...8)
            try old.seekToEnd()
            try old.write(contentsOf: Data(#"{"event":"line","data":{"n":6}}"#.utf8))
            try await trail.expect(1...8)
            // Truncates the file as copytruncate does.
            let file = try FileHandle(forWritingTo: URL(filePath: trail.path))
            try file.truncate(atOffset: 0)
            try trail.append(9...20)
            try await trail.expect(1...20)
            #expect(try await trail.stop(SIGTERM) == 0)
        }
    }

    @Test("Files renamed while no follower ran are found, and read in order before the new one")
    func rotatedMeanwhile() async throws {
        try await withTrail { trail, _, _ in
            try await trail.follow(from: 1...5)
            _ = try await trail.stop(SIGKILL)
            try trail.append(6...9)
            for (start, day) in [(10, "-20260301"), (13, "-20260302"), (16, "-20260303")] {
                try trail.rename(to: day)
                try trail.append(start...(start + 2))
            }
            try trail.follow()
            try await trail.expect(1...18)
            #expect(try await trail.stop(SIGTERM) == 0)
            // Older rotated files stay unread, even if their names begin with the same prefix.
            try trail.rename(to: "-20260304")
            try trail.append(19...20)
            try trail.follow()
            try await trail.expect(1...20)
            #expect(trail.follower?.errorOutput == "")
        }
    }

    @Test("Files renamed while the daemon is down are all read, beginning with the highest number")
    func rotatedWithoutDaemon() async throws {
        try await withTrail { trail, daemon, _ in
            try await trail.follow(from: 1...5)
            try await daemon.killNow()
            try trail.append(6...9)
            for number in 0..<3 {
                for old in stride(from: number, to: 0, by: -1) { try trail.rename(to: ".\(old + 1)", from: ".\(old)") }
                try trail.rename(to: ".1")
                try trail.append((10 + 2 * number)...(11 + 2 * number))
            }
            // The oldest file is deleted.
            try FileManager.default.removeItem(atPath: trail.path + ".3")
            try await daemon.start()
            try await trail.expect(1...15)
            #expect(trail.follower?.errorOutput == "")
        }
    }

    @Test("A follower waits for the daemon even if it has had no line to send")
    func quiet() async throws {
        try await withTrail { trail, daemon, _ in
            try trail.append("")
            try trail.follow()
            _ = try await eventually("the follower is connected") {
                let clients = try await daemon.ask("client.list")["clients"].elements
                return clients.contains { $0["client"].string?.hasPrefix("headgate/") == true } ? true : nil
            }
            try await daemon.killNow()
            try trail.append(1...5)
            try await daemon.start()
            try await trail.expect(1...5)
            #expect(try await trail.stop(SIGTERM) == 0)
        }
    }

    @Test("A file that was removed or compressed before it was read is reported")
    func compressed() async throws {
        try await withTrail { trail, daemon, scene in
            try await trail.follow(from: 1...5)
            try await daemon.killNow()
            try trail.rename(to: ".2")
            try trail.append(6...7)
            try trail.rename(to: ".1.gz")
            try trail.append(8...9)
            try await daemon.start()
            #expect(try await trail.stored(atLeast: 7) == Array(1...5) + [8, 9])
            #expect(trail.problems("trail.ndjson.1.gz is compressed") == 1)
            #expect(try await trail.stop(SIGTERM) == 0)
            // The file's inode number is not reused while the file exists elsewhere.
            try FileManager.default.moveItem(atPath: trail.path, toPath: scene.directory.path("elsewhere"))
            try trail.append(10...11)
            try trail.follow()
            #expect(try await trail.stored(atLeast: 9) == Array(1...5) + Array(8...11))
            #expect(trail.problems("the followed file was deleted or compressed") == 1)
        }
    }

    @Test(
        "A full disk is reported once and awaited, even after a kill, and each line is stored once",
        .enabled(if: SmallDisk.isPossible, "needs root, to mount a small disk"))
    func fullDisk() async throws {
        try await withTrail { trail, _, scene in
            let disk = try SmallDisk(at: scene.directory.path("small"))
            defer { disk.unmount() }
            trail.state = disk.path + "/place"
            try await trail.follow(from: 1...5)
            try disk.fill()
            try trail.append(6...10)
            try await trail.expect(1...10)
            try await eventually("the error line") { trail.problems("No space left on device") == 1 }
            _ = try await trail.stop(SIGKILL)
            try trail.append(11...15)
            try trail.follow()
            try await eventually("the error line") { trail.problems("No space left on device") == 1 }
            try disk.makeRoom()
            try trail.append(16...20)
            try await trail.expect(1...20)
            #expect(try await trail.stop(SIGTERM) == 0)
            #expect(trail.problems("headgate: ") == 1)
            try trail.follow()
            try trail.append(21...25)
            try await trail.expect(1...25)
        }
    }

    @Test(
        "A permanent error ends the follower with 1",
        .enabled(if: SmallDisk.isPossible, "needs root, to mount a small disk"))
    func readOnlyDisk() async throws {
        try await withTrail { trail, _, scene in
            let disk = try SmallDisk(at: scene.directory.path("small"))
            defer { disk.unmount() }
            trail.state = disk.path + "/place"
            try await trail.follow(from: 1...5)
            #expect(try await trail.stop(SIGTERM) == 0)
            try disk.makeReadOnly()
            try trail.follow()
            #expect(try await trail.follower?.exitCode() == 1)
            #expect(trail.problems("Read-only file system") == 1)
        }
    }

    @Test("L1: only lines refused by a full store are repeated until there is room")
    func fullStore() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: ["store": ["max_events": 10]])
            try await daemon.pause()
            let trail = scene.keep(Trail(scene, daemon, collector))
            try trail.append(1...15)
            try trail.follow()
            try await eventually("a full store") { try await daemon.ask("status")["store"]["events"] == 10 }
            try await daemon.resume()
            try await trail.expectAll(1...15)
            #expect(trail.problems("the queue is full") == 1)
            // Only the refused lines were sent again.
            let counters = try await daemon.ask("status")["counters"]
            let stored = (counters["received"].int ?? 0) - (counters["rejected"].int ?? 0)
            #expect(counters["duplicates"].int ?? 0 == 0 && stored == 15, "\(counters)")
            #expect(try await trail.stop(SIGTERM) == 0)
        }
    }

    @Test("L1: a stop with refused lines duplicates no line, since stored ones are remembered")
    func stoppedWhileFull() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: ["store": ["max_events": 10]])
            try await daemon.pause()
            let trail = scene.keep(Trail(scene, daemon, collector))
            try trail.append(1...15)
            try trail.follow()
            try await eventually("the error line") { trail.problems("the queue is full") == 1 }
            #expect(try await trail.stop(SIGTERM) == 0)
            try await daemon.resume()
            try trail.follow()
            try await trail.expectAll(1...15)
            #expect(try await daemon.ask("status")["counters"]["duplicates"].int ?? 0 == 0)
            #expect(try await trail.stop(SIGTERM) == 0)
        }
    }

    @Test("L2: an invalid line before a waiting one is reported once, whatever is refused meanwhile")
    func badBeforeRefused() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: ["store": ["max_events": 1]])
            try await daemon.pause()
            let trail = scene.keep(Trail(scene, daemon, collector))
            try trail.append(1...1)
            try trail.append("{\"event\":\"\"}\nno json\n")
            try trail.append(2...2)
            try trail.follow()
            try await eventually("the error line") { trail.problems("the queue is full") == 1 }
            try await daemon.resume()
            try await trail.expect(1...2)
            #expect(try await trail.stop(SIGTERM) == 0)
            let bad = (trail.follower?.errorOutput ?? "").matches(of: /trail\.ndjson, byte ([0-9]+)/).map { $0.1 }
            #expect(bad.count == 2 && Set(bad).count == 2)
        }
    }

    @Test("L3: the rest of a line that is too long is not an event, even if it looks like one")
    func longLine() async throws {
        try await withTrail { trail, _, _ in
            try trail.append(1...1)
            try trail.append(String(repeating: "x", count: 17 << 20) + #"{"event":"forged","data":{"n":0}}"# + "\n")
            try trail.append(2...3)
            try trail.follow()
            try await trail.expect(1...3)
            #expect(try await trail.stop(SIGTERM) == 0)
            #expect(trail.problems("the line is too long") == 1)
        }
    }

    /// Empties the file and writes `lines` identical lines.
    private func rewrite(_ trail: Trail, lines: Int) throws {
        let descriptor = try SystemError.check(open(trail.path, O_WRONLY | O_CREAT | O_TRUNC, 0o600), "open")
        let text = String(repeating: #"{"event":"line","data":{"n":1}}"# + "\n", count: lines)
        try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: Data(text.utf8))
    }

    @Test(
        "L4: if a file of equal lines is emptied and rewritten at once, each line is sent, even without the daemon"
    )
    func alikeLines() async throws {
        try await withTrail { trail, daemon, _ in
            try rewrite(trail, lines: 20)
            try trail.follow()
            #expect(try await trail.stored(atLeast: 20).count == 20)
            try rewrite(trail, lines: 50)
            #expect(try await trail.stored(atLeast: 70).count == 70)
            try await daemon.killNow()
            try rewrite(trail, lines: 60)
            try await daemon.start()
            #expect(try await trail.stored(atLeast: 130).count == 130)
            #expect(try await trail.stop(SIGTERM) == 0)
            // While no follower runs, only the size and the time of the file show the change.
            try rewrite(trail, lines: 60)
            try trail.follow()
            #expect(try await trail.stored(atLeast: 190).count == 190)
            #expect(try await trail.stop(SIGTERM) == 0)
        }
    }

    @Test("L5: a file in another format ends the follower with 1, reports the expected format, and keeps the position")
    func foreign() async throws {
        try await withTrail { trail, daemon, _ in
            let line = #"127.0.0.1 - - [26/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 612 "-" "curl/7.88""# + "\n"
            try trail.append(String(repeating: line, count: 150))
            for _ in 1...2 {
                try trail.follow()
                #expect(try await trail.follower?.exitCode() == 1)
                #expect(trail.problems("has another format") == 1 && trail.problems(#"{"event": "signup""#) == 1)
            }
            #expect(try await daemon.ask("status")["counters"]["received"].int ?? 0 == 0)
        }
    }

    @Test("L1, L5: lines in logfmt and of any text are stored once across restarts; another file format is refused")
    func otherFormats() async throws {
        try await withTrail { trail, _, _ in
            try trail.append("level=info n=1\nlevel=info n=2\n")
            try trail.follow(["--logfmt"])
            #expect(try await trail.stored(atLeast: 2).count == 2)
            #expect(try await trail.stop(SIGKILL) != 0)
            try trail.append("level=info n=3\nnothing\n")
            try trail.follow(["--logfmt"])
            #expect(try await trail.stored(atLeast: 3).count == 3)
            #expect(try await trail.stop(SIGTERM) == 0)
            #expect(trail.problems("no pair like level=info") == 1)
            try trail.append("any \"text\"\n")
            try trail.follow(["--line", "--event", "text"])
            #expect(try await trail.stored(atLeast: 4).count == 4)
            #expect(try await trail.stop(SIGTERM) == 0)
        }
        try await withTrail { trail, _, _ in
            try trail.append(String(repeating: "any text\n", count: 100))
            try trail.follow(["--logfmt"])
            #expect(try await trail.follower?.exitCode() == 1)
            #expect(trail.problems("pairs such as level=info") == 1)
        }
    }

    @Test(
        "After copytruncate with a writer that does not append, NUL bytes are skipped, and so is a byte order mark"
    )
    func holesAndMarks() async throws {
        try await withTrail { trail, _, _ in
            try trail.append("\u{FEFF}")
            try await trail.follow(from: 1...5)
            let writer = try FileHandle(forWritingTo: URL(filePath: trail.path))
            try writer.truncate(atOffset: 0)
            // A hole too large to read.
            try writer.seek(toOffset: 1 << 33)
            try writer.write(contentsOf: Data((#"{"event":"line","data":{"n":6}}"# + "\n").utf8))
            try await trail.expect(1...6)
            try trail.append(7...8)
            try await trail.expect(1...8)
            #expect(try await trail.stop(SIGTERM) == 0)
            #expect(trail.problems("trail.ndjson, byte") == 0)
        }
    }

    @Test("An unread standard error does not delay lines")
    func stalledMessages() async throws {
        try await withTrail { trail, daemon, _ in
            try trail.append("no json\n")
            try trail.append(1...4)
            let arguments = [
                "send", "--follow", trail.path, "--state", trail.path + ".state", "--socket", daemon.socketPath,
            ]
            try await FullPipe().run("headgate", arguments) { try await trail.expect(1...4) }
        }
    }

    @Test(
        "C4: a named pipe is followed across changing writers, restarts of the follower and the daemon, and a new pipe",
        arguments: [false, true])
    func pipe(isEncrypted: Bool) async throws {
        try await withTrail { trail, daemon, scene in
            if isEncrypted { trail.options = ["--key-file", try trail.keys(1)] }
            try trail.makePipe()
            try trail.follow()
            for start in [1, 11] {
                let writers = try (0..<5).map { try trail.writer((start + $0 * 2)...(start + $0 * 2 + 1), scene) }
                for writer in writers { #expect(try await writer.exitCode() == 0) }
                try await trail.expectAll(1...(start + 9))
            }
            #expect(try await trail.writer("'no json'", scene).exitCode() == 0)
            try await eventually("the error line") { trail.follower?.errorOutput.contains("trail.ndjson: ") == true }
            #expect(trail.follower?.errorOutput.contains(": no json\n") == true)
            try await daemon.killNow()
            #expect(try await trail.writer(21...30, scene).exitCode() == 0)
            try await daemon.start()
            try await trail.expectAll(1...30)
            #expect(try await trail.stop(SIGTERM) == 0)
            try FileManager.default.removeItem(atPath: trail.path)
            try trail.follow()
            try trail.makePipe()
            #expect(try await trail.writer(31...40, scene).exitCode() == 0)
            try await trail.expectAll(1...40)
        }
    }

    @Test(
        "C4: repeated SIGKILLs of the follower of a pipe lose no line; a plain spool repeats none",
        arguments: [false, true])
    func pipeKilled(isEncrypted: Bool) async throws {
        try await withTrail { trail, daemon, scene in
            if isEncrypted { trail.options = ["--key-file", try trail.keys(1)] }
            try trail.makePipe()
            // Keeps the pipe open. Otherwise its content would be lost at a kill if no writer has it open, and writers
            // would get SIGPIPE.
            let held = try SystemError.check(open(trail.path, O_RDWR | O_CLOEXEC), "open")
            defer { close(held) }
            var writers: [ChildProcess] = []
            for count in [0, 250, 500, 750] {
                try trail.follow()
                writers += try (0..<4).map { try trail.writer((count + $0 * 50 + 1)...(count + $0 * 50 + 50), scene) }
                _ = try await trail.stored(atLeast: count + 20)
                // Ensures that the spool has lines that are stored nowhere else.
                try await daemon.killNow()
                let length = trail.spoolLength
                writers.append(try trail.writer((count + 201)...(count + 250), scene))
                try await eventually("lines in the spool") { trail.spoolLength > length }
                _ = try await trail.stop(SIGKILL)
                try await daemon.start()
            }
            try trail.follow()
            for writer in writers { #expect(try await writer.exitCode() == 0) }
            if isEncrypted {
                try await eventually("all lines") { Set(try await trail.stored(atLeast: 1_000)) == Set(1...1_000) }
            } else {
                try await trail.expectAll(1...1_000)
            }
            #expect(try await trail.stop(SIGTERM) == 0)
        }
    }

    @Test("A pipe's spool is emptied when all of it is stored, even after a kill before the new position is saved")
    func pipeEmptied() async throws {
        try await withTrail { trail, _, scene in
            try trail.makePipe()
            try trail.follow()
            let padding = String(repeating: "x", count: 60_000)
            #expect(try await trail.writer(1...170, padding: padding, scene).exitCode() == 0)
            try await trail.expect(1...170)
            try await eventually("an empty spool") { trail.spoolLength == 0 }
            #expect(try await trail.writer(171...172, scene).exitCode() == 0)
            try await trail.expect(1...172)
            #expect(trail.spoolLength > 0)
            #expect(try await trail.stop(SIGTERM) == 0)
            #expect(truncate(trail.spool, 0) == 0)
            try trail.follow()
            #expect(try await trail.writer(171...180, scene).exitCode() == 0)
            #expect(try await trail.stored(atLeast: 182) == Array(1...172) + Array(171...180))
            #expect(trail.follower?.errorOutput.isEmpty == true)
        }
    }

    @Test("Two followers cannot use one state file, for a file or a pipe", arguments: [false, true])
    func shared(isPipe: Bool) async throws {
        try await withTrail { trail, _, scene in
            if isPipe { try trail.makePipe() } else { try trail.append(1...3) }
            try trail.follow()
            if isPipe { #expect(try await trail.writer(1...3, scene).exitCode() == 0) }
            _ = try await trail.stored(atLeast: 3)
            let first = try #require(trail.follower)
            try trail.follow()
            #expect(try await trail.follower?.exitCode() == 1)
            #expect(trail.problems("another process uses \(trail.defaultState)") == 1)
            #expect(first.isRunning)
            first.signal(SIGTERM)
            #expect(try await first.exitCode() == 0)
            try trail.follow()
            if isPipe { #expect(try await trail.writer(4...5, scene).exitCode() == 0) } else { try trail.append(4...5) }
            try await trail.expect(1...5)
        }
    }
}
