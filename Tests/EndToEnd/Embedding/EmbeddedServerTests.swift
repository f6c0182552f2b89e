import Foundation
import Testing

/// The example program that embeds the server and adds a barrier.
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

    @Test("B5, B10: a program's own barrier gets its settings, blocks, shows its reason, and opens")
    func boardBarrier() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let file = scene.directory.path("maintenance")
            try Data().write(to: URL(fileURLWithPath: file))
            let daemon = try await start(scene, collector, maintenance: file)
            try await daemon.track(1...2)
            let held = try await daemon.dispatcher()
            #expect(held.contains(["state": "blocked", "blocked_by": ["MaintenanceBarrier"], "pending": 2]))
            let barrier = try await daemon.barrier("MaintenanceBarrier")
            #expect(barrier.contains(["word": "MaintenanceBarrier", "flushable": false]))
            #expect(barrier["states"] == ["collect": "closed"])
            #expect(barrier["reason"] == .string("\(file) exists"))
            try FileManager.default.removeItem(atPath: file)
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["e1", "e2"])
            #expect(try await daemon.stop() == 0)
        }
    }

    @Test("S6: settings use a program's load rule and transformer kind, and a reload changes them")
    func ruleAndTransformer() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = scene.idleDaemon()
            daemon.program = "EmbeddedServer"
            try daemon.configure(Self.settings(collector, rule: ["not": "is_probe"], kept: 4))
            try await daemon.start()
            try await Self.trackBoth(daemon, "1")
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["sale-1"])
            try daemon.configure(Self.settings(collector, rule: "is_probe", kept: 2))
            _ = try await daemon.ask("config.reload")
            try await Self.trackBoth(daemon, "2")
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["sale-1", "probe-2"])
            let cards = collector.accepted.flatMap(\.events).map { $0["data"]["card"] }
            #expect(cards == ["************1111", "**************11"])
            #expect(try await daemon.stop() == 0)
        }
    }

    private static func settings(_ collector: Collector, rule: JSON, kept: Int) -> JSON {
        let mask: JSON = [
            "id": "cards", "kind": "card_mask", "scopes": ["afterCollectors"],
            "configuration": ["path": "data.card", "kept": .number(Double(kept))],
        ]
        return ["dispatchers": ["collect": collector.dispatcher(["load_rule": rule])], "transformations": [mask]]
    }

    private static func trackBoth(_ daemon: Daemon, _ number: String) async throws {
        for event in ["sale", "probe"] {
            let id = JSON.string("\(event)-\(number)")
            _ = try await daemon.ask(
                "track", ["event": .string(event), "id": id, "data": ["card": "4111111111111111"]])
        }
    }

    @Test(
        "S2: kinds that neither the service nor the program knows are errors",
        arguments: [
            ("barriers.OtherBarrier.kind", ["barriers": ["OtherBarrier": [:]]]),
            ("dispatchers.d.load_rule", ["dispatchers": ["d": ["kind": "worker", "load_rule": "is_sale"]]]),
            (
                "transformations[0].kind",
                ["transformations": [["id": "t", "kind": "mask", "scopes": "allDispatchers"]]]
            ),
        ] as [(String, JSON)])
    func unknown(path: String, settings: JSON) async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            daemon.program = "EmbeddedServer"
            try daemon.configure(settings)
            #expect(try await daemon.run() == 1)
            try await daemon.logs(path)
        }
    }
}
