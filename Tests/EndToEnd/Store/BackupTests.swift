import Foundation
import Testing

/// Copies of the store of a running daemon, with `headgate backup`.
@Suite struct BackupTests {
    private static let data: JSON = ["text": .string(String(repeating: "x", count: 5_000))]

    @discardableResult
    private func track(_ groups: ClosedRange<Int>, on daemon: Daemon) async throws -> [String] {
        var ids: [String] = []
        for group in groups {
            ids += try await daemon.track((group - 1) * 50 + 1...group * 50, data: BackupTests.data)
        }
        return ids
    }

    @Test("Backup: a copy made under traffic has every event that was acknowledged before, and a daemon starts on it")
    func traffic() async throws {
        try await withScene { scene in
            let (first, second) = (try scene.collector(), try scene.collector())
            let daemon = try await scene.daemon(sendingTo: first)
            try await daemon.pause()
            let before = try await track(1...8, on: daemon)
            let (copy, socket, folder) = (daemon.folder + "/copy", daemon.socketPath, daemon.folder)
            async let run = CommandLineTool.run(["backup", copy, "--socket", socket], in: folder)
            let all = try await before + track(9...16, on: daemon)
            let backup = try await run
            #expect(backup.exitCode == 0, "\(backup.errorOutput)")

            let other = scene.idleDaemon()
            other.dataPath = copy
            try other.configure(["dispatchers": ["collect": second.dispatcher()]])
            try await other.start()
            // The copy contains the pause.
            try await other.resume()
            _ = try await second.acceptedIDs(atLeast: before.count)
            try await other.dispatcher(until: "all is sent") { $0["pending"] == 0 && $0["in_flight"] == 0 }
            let sent = second.acceptedIDs
            #expect(sent.count >= before.count && sent == Array(all.prefix(sent.count)))
            let client = try await other.connect()
            let again = try await client.result("track", ["event": "order", "id": .string(before[0])])
            #expect(again["duplicate"] == true)
            #expect(try await daemon.dispatcher()["pending"] == .number(Double(all.count)))
        }
    }

    @Test(
        "Backup: a tar archive on standard output is a data directory, without damage and about as large as the live events"
    )
    func archive() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            try await track(1...8, on: daemon)
            _ = try await collector.acceptedIDs(atLeast: 400)
            try await daemon.dispatcher(until: "all is sent") { $0["pending"] == 0 && $0["in_flight"] == 0 }
            try await daemon.pause()
            try await track(9...10, on: daemon)
            let (archive, folder) = (daemon.folder + "/copy.tar", daemon.folder + "/copy")
            let tool = try ChildProcess(
                BuiltProducts.path(of: "headgate"), ["backup", "-", "--socket", daemon.socketPath], environment: [:],
                outputPath: archive, errorPath: archive + ".err")
            #expect(try await tool.exitCode() == 0, "\(tool.errorOutput)")
            let size = try #require(FileManager.default.contents(atPath: archive)).count
            // A hundred events of 5 KB are pending, and compressed in the copy. Four hundred more were delivered.
            #expect((70_000..<300_000).contains(size))
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try await CommandLineTool.run(program: "/bin/tar", ["-xf", archive, "-C", folder], in: daemon.folder)
            let verified = try await CommandLineTool.run(
                program: BuiltProducts.path(of: "headgated"), ["--verify", folder], in: daemon.folder)
            #expect(verified.output.contains("  collect: 100 pending"))
            #expect(verified.output.hasSuffix("no damage found\n"))
        }
    }

    @Test("Backup: the SQLite store refuses a backup, and a target directory with content is refused")
    func refusals() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: ["store": ["kind": "sqlite"]])
            let copy = daemon.folder + "/copy"
            let refused = try await CommandLineTool.run("backup", copy, on: daemon)
            #expect(refused.exitCode == 1 && refused.errorOutput.contains("of kind sqlite cannot be backed up"))
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: daemon.folder).allSatisfy { !$0.hasPrefix("copy") })
            let taken = try await CommandLineTool.run("backup", daemon.dataPath, on: daemon)
            #expect(taken.exitCode == 1 && taken.errorOutput.contains("already exists"))
        }
    }
}
