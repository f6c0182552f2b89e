import Foundation
import Testing

/// The example program that embeds the server and brings a barrier of its own.
@Suite struct EmbeddedServerTests {
    private func start(_ scene: Scene, _ collector: Collector, maintenance: String) async throws -> Daemon {
        let daemon = scene.idleDaemon()
        daemon.program = "EmbeddedServer"
        let barrier: JSON = ["scopes": ["collect"], "configuration": ["file": .string(maintenance)]]
        try daemon.configure([
            "dispatchers": ["collect": collector.dispatcher([:])], "barriers": ["MaintenanceBarrier": barrier],
        ])
        try await daemon.start()
        return daemon
    }

    @Test("B5, B10: a program's own barrier gets its settings, holds, says why, and lets go")
    func ownBarrier() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let file = scene.directory.path("maintenance")
            try Data().write(to: URL(fileURLWithPath: file))
            let daemon = try await start(scene, collector, maintenance: file)
            try await daemon.track(1...2)
            let held = try await daemon.dispatcher()
            #expect(held.contains(["way": "closed", "blocked_by": ["MaintenanceBarrier"], "pending": 2]))
            let barrier = try await daemon.barrier("MaintenanceBarrier")
            #expect(barrier.contains(["word": "MaintenanceBarrier", "flushable": false]))
            #expect(barrier["states"] == ["collect": "closed"])
            #expect(barrier["reason"] == .string("\(file) exists"))
            try FileManager.default.removeItem(atPath: file)
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["e1", "e2"])
            #expect(try await daemon.stop() == 0)
        }
    }

    @Test("S2: a kind that neither the service nor the program knows is a fault")
    func unknownKind() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            daemon.program = "EmbeddedServer"
            try daemon.configure(["barriers": ["OtherBarrier": [:]]])
            #expect(try await daemon.run() == 1)
            #expect(daemon.log.contains("barriers.OtherBarrier.kind"))
        }
    }
}
