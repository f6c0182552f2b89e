import Foundation
import Testing

/// The worker in `Docs/Examples`.
@Suite struct ExampleWorkerTests {
    private static var script: String {
        let root = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { path, _ in path.deletingLastPathComponent() }
        return root.appendingPathComponent("Docs/Examples/Worker/worker.py").path
    }

    @Test("K3: a worker in another language reports an outcome for each event")
    func outcomes() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon([
                "dispatchers": ["mail": ["kind": "worker", "backoff": ["base_ms": 1, "cap_ms": 1]]]
            ])
            let client = try await daemon.connect()
            for (id, data) in [("a", ["to": "ann"]), ("b", [:]), ("c", ["to": "later"])] as [(String, JSON)] {
                _ = try await client.result("track", ["event": "mail", "id": .string(id), "data": data])
            }
            let worker = try ChildProcess(
                "/usr/bin/env", ["python3", Self.script, daemon.socketPath, daemon.folder + "/sent"],
                outputPath: daemon.folder + "/worker.out", errorPath: daemon.folder + "/worker.err")
            try await daemon.dispatcher("mail", until: "all are settled") { $0["sent"].int == 2 && $0["dead"].int == 1 }
            #expect(daemon.lines(of: "sent") == ["a 1", "c 3"])
            #expect(worker.isRunning)
            #expect(worker.errorOutput.isEmpty)
        }
    }
}
