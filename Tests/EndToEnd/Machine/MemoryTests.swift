import Foundation
import Testing

/// A machine that runs out of memory.
@Suite struct MemoryTests {
    @Test("P1: a daemon without memory ends, and its acknowledged events are delivered after the next start")
    func outOfMemory() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.pause()
            let client = try await daemon.connect()
            var crowd: [LineClient] = []
            try await leave(mebibytes: 32, to: daemon)
            var acknowledged: [String] = []
            try await eventually("the end of the daemon") {
                let id = "e\(acknowledged.count + 1)"
                let answer = try? await client.result("track", ["event": "x", "id": .string(id)])
                if answer != nil { acknowledged.append(id) }
                // An unfinished line is kept in memory.
                if let hog = try? await daemon.connect() {
                    crowd.append(hog)
                    try? await hog.send(bytes: Self.halfLine)
                }
                return daemon.process?.isRunning == false
            }
            #expect(try await daemon.process?.exitCode() != 0)
            #expect(!acknowledged.isEmpty)

            try await daemon.start()
            try await daemon.resume()
            let delivered = try await collector.acceptedIDs(atLeast: acknowledged.count)
            #expect(delivered.prefix(acknowledged.count) == acknowledged[...])
        }
    }

    private static let halfLine = [UInt8](repeating: UInt8(ascii: "x"), count: 900_000)

    /// Limits a running daemon to `mebibytes` more memory than it has.
    private func leave(mebibytes: Int, to daemon: Daemon) async throws {
        let limit = try daemon.addressKilobytes() * 1_024 + mebibytes << 20
        let process = try #require(daemon.process).processIdentifier
        try await CommandLineTool.run(
            program: "/usr/bin/prlimit", ["--pid", "\(process)", "--as=\(limit):\(limit)"], in: daemon.folder)
    }
}
