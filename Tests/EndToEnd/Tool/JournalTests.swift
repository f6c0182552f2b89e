import Foundation
import Testing

/// `headgate send --journal`, with a `journalctl` that reads a file of entries as the real one reads a journal.
@Suite struct JournalTests {
    /// Prints the entries from the cursor or the start on, and continues as the file grows. It ends in the
    /// middle of an entry, as the real `journalctl` can.
    private static let journalctl = """
        #!/usr/bin/env python3
        import json, os, signal, sys, time
        def end(code):
            os.write(1, b'{"__CURSOR":"half')
            os._exit(code)
        signal.signal(signal.SIGTERM, lambda *_: end(0))
        cursor = [word.partition("=")[2] for word in sys.argv if word.startswith("--cursor=")]
        since = [int(word[9:-2]) for word in sys.argv if word.startswith("--since=@")]
        with open(os.environ["TEST_JOURNAL"]) as entries:
            with open(os.environ["TEST_ARGUMENTS"], "a") as log: log.write(" ".join(sys.argv[1:]) + "\\n")
            shows = False
            while True:
                line = entries.readline()
                if not line.endswith("\\n"):
                    time.sleep(0.01)
                    continue
                entry = json.loads(line)
                if entry.get("MESSAGE") == "fail": end(3)
                shows = shows or entry["__CURSOR"] in cursor or any(int(entry["__REALTIME_TIMESTAMP"]) >= 1000 * at for at in since)
                if shows: print(line, end="", flush=True)
        """

    /// A journal, and the followers of it.
    private final class Trail {
        let scene: Scene
        let daemon: Daemon
        let collector: Collector
        private var follower: ChildProcess?
        private var written = 0
        private var runs = 0

        init(_ scene: Scene) async throws {
            self.scene = scene
            collector = try scene.collector()
            daemon = try await scene.daemon(sendingTo: collector)
            let tool = try scene.directory.write(JournalTests.journalctl, to: "journalctl")
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: tool)
            _ = try scene.directory.write("", to: "journal")
            _ = try scene.directory.write("", to: "arguments")
        }

        func append(_ messages: String...) throws {
            let file = try FileHandle(forWritingTo: URL(filePath: scene.directory.path("journal")))
            defer { try? file.close() }
            try file.seekToEnd()
            for message in messages {
                written += 1
                // The journal's own order of the members, without the escapes of Foundation.
                let time = Int64(Date().timeIntervalSince1970 * 1_000_000)
                let entry =
                    #"{"__CURSOR":"c\#(written)","__REALTIME_TIMESTAMP":"\#(time)","MESSAGE":"\#(message)","PRIORITY":"6"}"#
                try file.write(contentsOf: Data((entry + "\n").utf8))
            }
        }

        /// Starts a follower, and waits until it reads the journal.
        func follow(_ matches: [String] = []) async throws {
            runs += 1
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            follower = try ChildProcess(
                BuiltProducts.path(of: "headgate"),
                ["send", "--journal", "--event", "entry", "--socket", daemon.socketPath] + matches,
                environment: [
                    "PATH": scene.directory.path(".") + ":" + path, "STATE_DIRECTORY": scene.directory.path("state"),
                    "TEST_JOURNAL": scene.directory.path("journal"),
                    "TEST_ARGUMENTS": scene.directory.path("arguments"),
                ],
                outputPath: scene.directory.path("out\(runs)"), errorPath: scene.directory.path("err\(runs)"))
            _ = try await eventually("journalctl") { arguments.count == runs ? true : nil }
        }

        /// The arguments of each run of `journalctl`.
        var arguments: [String] {
            let text = (try? String(contentsOfFile: scene.directory.path("arguments"), encoding: .utf8)) ?? ""
            return text.split(separator: "\n").map(String.init)
        }

        func messages(atLeast count: Int) async throws -> [String] {
            try await eventually("\(count) events") {
                let events = collector.accepted.flatMap(\.events)
                guard events.count >= count else { return nil }
                #expect(events.allSatisfy { $0["event"] == "entry" && $0["data"]["level"] == "INFO" })
                return events.compactMap { $0["data"]["message"].string }
            }
        }

        func stop(_ signal: Int32) async throws -> Int32 {
            follower?.signal(signal)
            return try await end()
        }

        func end() async throws -> Int32 {
            let follower = try #require(follower)
            return try await follower.exitCode()
        }

        /// Returns the output of the last run, which has ended.
        func summary() throws -> String {
            try String(contentsOfFile: scene.directory.path("out\(runs)"), encoding: .utf8)
        }

        var errorOutput: String { follower?.errorOutput ?? "" }
    }

    @Test("L1: new entries are stored once, also across a stop and a kill of the follower")
    func restarts() async throws {
        try await withScene { scene in
            let trail = try await Trail(scene)
            try trail.append("before")
            try await trail.follow(["_SYSTEMD_UNIT=a.service"])
            #expect(
                trail.arguments[0].contains(" --since=@") && trail.arguments[0].hasSuffix(" -- _SYSTEMD_UNIT=a.service")
            )
            try trail.append("one", "two")
            #expect(try await trail.messages(atLeast: 2) == ["one", "two"])
            #expect(try await trail.stop(SIGTERM) == 0)
            try trail.append("three")
            try await trail.follow(["_SYSTEMD_UNIT=a.service"])
            #expect(trail.arguments[1].contains("--cursor=c3 "))
            #expect(try await trail.messages(atLeast: 3) == ["one", "two", "three"])
            #expect(try await trail.stop(SIGTERM) == 0)
            // The last settled entry is not sent again: the daemon forgets ids after some time.
            #expect(try trail.summary() == "1 event acknowledged\n")
            try await trail.follow(["_SYSTEMD_UNIT=a.service"])
            try trail.append("killed")
            #expect(try await trail.messages(atLeast: 4).last == "killed")
            #expect(try await trail.stop(SIGKILL) != 0)
            try trail.append("four")
            try await trail.follow(["_SYSTEMD_UNIT=a.service"])
            #expect(try await trail.messages(atLeast: 5) == ["one", "two", "three", "killed", "four"])
            #expect(try await trail.stop(SIGTERM) == 0)
        }
    }

    @Test("L1: entries written after the first follower stopped are sent, even if it had sent none")
    func firstStart() async throws {
        try await withScene { scene in
            let trail = try await Trail(scene)
            try await trail.follow()
            #expect(try await trail.stop(SIGTERM) == 0)
            try trail.append("one")
            try await trail.follow()
            #expect(try await trail.messages(atLeast: 1) == ["one"])
            #expect(try await trail.stop(SIGTERM) == 0)
        }
    }

    @Test("The command ends with 1 if journalctl fails, after the earlier entries are stored")
    func failure() async throws {
        try await withScene { scene in
            let trail = try await Trail(scene)
            try await trail.follow()
            try trail.append("one", "fail")
            #expect(try await trail.end() == 1)
            #expect(trail.errorOutput.contains("journalctl ended") && !trail.errorOutput.contains("line "))
            #expect(try await trail.messages(atLeast: 1) == ["one"])
        }
    }

    @Test("--journal excludes the other sources of lines")
    func usage() async throws {
        try await withScene { scene in
            for option in ["--stdin", "--logfmt", "--line"] {
                let run = try await CommandLineTool.run(
                    ["send", "--journal", option], in: scene.directory.path("."))
                #expect(run.exitCode == 2 && run.errorOutput.contains("give only one of --journal and \(option)"))
            }
        }
    }
}
