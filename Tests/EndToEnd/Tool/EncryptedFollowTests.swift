import Foundation
import Testing

/// `headgate send --follow --key-file`.
@Suite struct EncryptedFollowTests {
    /// A text that the lines contain.
    private static let secret = "ada-lovelace"

    @Test("C4: with a key, no bytes of a followed file are in the position's file, and the position stays")
    func file() async throws {
        try await withTrail { trail, _, _ in
            let keys = ["--line", "--key-file", try trail.keys(1)]
            for (number, options) in [(1, keys), (2, keys), (3, keys + ["--decrypt"]), (4, ["--line"])] {
                trail.options = options
                try trail.append("\(Self.secret) \(number)\n")
                try trail.follow()
                #expect(try await trail.stored(atLeast: number).count == number)
                #expect(try await trail.stop(SIGTERM) == 0)
                // The text stands in the position as numbers.
                #expect(try trail.files(with: "\"before\"").isEmpty == (options == keys))
            }
        }
    }

    @Test("C4: a pipe's lines are not on the disk in plain while the daemon is away, and are sent later")
    func pipe() async throws {
        try await withTrail { trail, daemon, scene in
            trail.options = ["--key-file", try trail.keys(1)]
            try trail.makePipe()
            // A pipe that no process has open loses its content.
            let held = try SystemError.check(open(trail.path, O_RDWR | O_CLOEXEC), "open")
            defer { close(held) }
            try trail.follow()
            #expect(try await trail.writer(1...2, padding: Self.secret, scene).exitCode() == 0)
            try await trail.expect(1...2)
            try await daemon.killNow()
            let length = trail.spoolLength
            #expect(try await trail.writer(3...5, padding: Self.secret, scene).exitCode() == 0)
            try await eventually("lines in the spool") { trail.spoolLength > length }
            _ = try await trail.stop(SIGKILL)
            #expect(try trail.files(with: Self.secret) == [])
            try await daemon.start()

            trail.options = []
            try trail.follow()
            #expect(try await trail.follower?.exitCode() == 1)
            #expect(trail.problems("is encrypted with key 1, and there is no key: use --key-file") == 1)
            trail.options = ["--key-file", try trail.keys(2)]
            try trail.follow()
            #expect(try await trail.follower?.exitCode() == 1)
            #expect(trail.problems("which is not among the keys of --key-file") == 1)

            trail.options = ["--key-file", try trail.keys(2, 1)]
            try trail.follow()
            try await eventually("all lines") { Set(try await trail.stored(atLeast: 5)) == Set(1...5) }
            // Now all is stored, and what is under the old key is rewritten.
            #expect(try await trail.stop(SIGTERM) == 0)
            trail.options = ["--key-file", try trail.keys(2)]
            try trail.follow()
            #expect(try await trail.writer(6...6, scene).exitCode() == 0)
            try await eventually("the last line") { try await trail.stored(atLeast: 6).last == 6 }
        }
    }

    @Test("C4: encryption of a pipe's spool is switched on and off once its lines are sent, and not before")
    func switched() async throws {
        try await withTrail { trail, daemon, scene in
            let keys = try trail.keys(1)
            try trail.makePipe()
            try trail.follow()
            #expect(try await trail.writer(1...2, padding: Self.secret, scene).exitCode() == 0)
            try await trail.expect(1...2)
            try await daemon.killNow()
            let length = trail.spoolLength
            #expect(try await trail.writer(3...3, padding: Self.secret, scene).exitCode() == 0)
            try await eventually("a line in the spool") { trail.spoolLength > length }
            _ = try await trail.stop(SIGKILL)
            try await daemon.start()

            trail.options = ["--key-file", keys]
            try trail.follow()
            #expect(try await trail.follower?.exitCode() == 1)
            #expect(trail.problems("has lines that are not sent: run the command without --key-file until") == 1)
            for options in [[], ["--key-file", keys], ["--key-file", keys, "--decrypt"], []] {
                let expected = try await trail.stored(atLeast: 2).count + 1
                trail.options = options
                try trail.follow()
                if expected > 3 {
                    let number = expected...expected
                    #expect(try await trail.writer(number, padding: Self.secret, scene).exitCode() == 0)
                }
                try await trail.expect(1...expected)
                #expect(try await trail.stop(SIGTERM) == 0)
                #expect(trail.problems("headgate: ") == 0)
                let isPlain = options.isEmpty || options.contains("--decrypt")
                #expect(FileManager.default.fileExists(atPath: trail.plainSpool) == isPlain)
                #expect(FileManager.default.fileExists(atPath: trail.encryptedSpool) != isPlain)
                #expect(try trail.files(with: Self.secret).isEmpty != isPlain)
            }
        }
    }

    @Test(
        "C4: a full disk is awaited, and the lines stay in the pipe",
        .enabled(if: SmallDisk.isPossible, "needs root, to mount a small disk"))
    func fullDisk() async throws {
        try await withTrail { trail, _, scene in
            let disk = try SmallDisk(at: scene.directory.path("small"))
            defer { disk.unmount() }
            trail.state = disk.path + "/place"
            trail.options = ["--key-file", try trail.keys(1)]
            try trail.makePipe()
            try trail.follow()
            #expect(try await trail.writer(1...2, scene).exitCode() == 0)
            try await trail.expect(1...2)
            try disk.fill()
            let writer = try trail.writer(3...9, padding: String(repeating: "x", count: 6_000), scene)
            try await eventually("the error line") { trail.problems("No space left on device") >= 1 }
            try disk.makeRoom()
            #expect(try await writer.exitCode() == 0)
            try await trail.expect(1...9)
        }
    }

    @Test("C4: a damaged record is reported, and the other lines are sent")
    func damage() async throws {
        try await withTrail { trail, daemon, scene in
            trail.options = ["--key-file", try trail.keys(1)]
            try trail.makePipe()
            try trail.follow()
            #expect(try await trail.writer(1...1, scene).exitCode() == 0)
            try await trail.expect(1...1)
            try await daemon.killNow()
            var ends = [trail.spoolLength]
            for number in 2...4 {
                #expect(try await trail.writer(number...number, scene).exitCode() == 0)
                try await eventually("a line in the spool") { trail.spoolLength > ends.last ?? 0 }
                ends.append(trail.spoolLength)
            }
            _ = try await trail.stop(SIGKILL)
            let file = try FileHandle(forUpdating: URL(filePath: trail.spool))
            try file.seek(toOffset: UInt64(ends[1] + 50))
            try file.write(contentsOf: Data("damage".utf8))
            try file.close()
            try await daemon.start()
            try trail.follow()
            #expect(try await trail.stored(atLeast: 3) == [1, 2, 4])
            #expect(trail.problems("is damaged") == 1)
        }
    }

    @Test("C4: a bad key file is refused with its line, and a readable one is reported")
    func keyFile() async throws {
        try await withTrail { trail, daemon, _ in
            let keys = try trail.keys(1)
            for (options, message) in [
                (["--follow", trail.path, "--decrypt"], "--decrypt needs --key-file"),
                (["--stdin", "--key-file", keys], "--key-file needs --follow or --journal"),
            ] {
                let run = try await CommandLineTool.run(["send"] + options, in: daemon.folder)
                #expect(run.exitCode == 2 && run.errorOutput.contains(message))
            }
            trail.options = ["--key-file", keys]
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: keys)
            try await trail.follow(from: 1...2)
            #expect(trail.problems("users other than its owner may read or write the key file") == 1)
            #expect(try await trail.stop(SIGTERM) == 0)
            for (text, message) in [("1 abcd\n", "line 1 is not a key"), ("", "there is no key")] {
                try text.write(toFile: keys, atomically: true, encoding: .utf8)
                try trail.follow()
                #expect(try await trail.follower?.exitCode() == 1)
                #expect(trail.problems(message) == 1)
            }
        }
    }
}
