import Foundation
import Testing

/// Invalid changes of the settings, which have no effect.
@Suite struct FaultyChangeTests {
    @Test("S2: an invalid reload has no effect, and every error is reported with its path")
    func faultyReload() async throws {
        try await withScene { scene in
            let (collector, other) = (try scene.collector(), try scene.collector())
            let daemon = try await scene.daemon(sendingTo: collector)
            let before = try await daemon.ask("config.get")
            let faults = try await daemon.refusedReload([
                "dispatchers": [
                    "collect": ["kind": "http", "endpoint": "nonsense://x"], "good": other.dispatcher(),
                    "strange": ["kind": "pigeon"],
                ],
                "store": ["max_events": "many"],
            ])
            let paths = Set(faults.compactMap { $0["path"].string })
            #expect(paths == ["dispatchers.collect.endpoint", "dispatchers.strange.kind", "store.max_events"])
            #expect(faults.allSatisfy { $0["message"].string?.isEmpty == false })
            #expect(try await daemon.ask("config.get") == before)
            #expect(try await daemon.ask("dispatcher.list")["dispatchers"].elements.map(\.["id"]) == ["collect"])
            try await daemon.track(1...1)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
            #expect(other.requests.isEmpty)
        }
    }

    @Test("S2: SIGHUP with invalid JSON has no effect and is logged")
    func unreadableFile() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let said = daemon.log.count
            try "{\"dispatchers\": ".write(toFile: daemon.configurationPath, atomically: true, encoding: .utf8)
            daemon.process?.signal(SIGHUP)
            try await eventually("a line in the log") { daemon.log.count > said }
            #expect(try await daemon.faults("config.reload").isEmpty == false)
            try await daemon.track(1...1)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
        }
    }

    @Test("S2: a patch with one error is rejected as a whole")
    func faultyPatch() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let before = try await daemon.ask("config.get")
            let patch: JSON = ["dispatchers": ["collect": ["dispatch_limit": 7, "in_flight": 0]]]
            let faults = try await daemon.faults("config.set", ["patch": patch, "persist": true])
            #expect(faults.map(\.["path"]) == ["dispatchers.collect.in_flight"])
            #expect(try await daemon.ask("config.get") == before)
            #expect(try await daemon.ask("config.get", ["layer": "programmatic"]) == [:])
            try await daemon.killNow()
            try await daemon.start()
            #expect(try await daemon.ask("config.get") == before)
        }
    }

    @Test("S5: an unknown operator, an unknown rule and a cycle of rules are errors")
    func faultyRules() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let wrong: [JSON] = [
                ["load_rules": ["r": ["operator": "resembles", "path": "event", "value": "x"]]],
                ["load_rules": ["r": ["not": "nowhere"]]],
                ["load_rules": ["r": ["not": "s"], "s": ["and": ["r"]]]],
                ["load_rules": ["r": "r"]],
                ["dispatchers": ["collect": ["load_rule": "nowhere"]]],
                [
                    "transformations": [
                        ["id": "t", "scopes": ["allDispatchers"], "remove": ["data.x"], "when": "nowhere"]
                    ]
                ],
            ]
            for patch in wrong {
                let faults = try await daemon.faults("config.set", ["patch": patch])
                let key = try #require(patch.members.keys.first)
                #expect(faults.contains { $0["path"].string?.hasPrefix(key) == true }, "\(patch): \(faults)")
            }
            try await daemon.track(1...1)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
        }
    }

    @Test("S2: an unknown key is rejected, and with `lenient` it is a warning in status until it is removed")
    func unknownKey() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            #expect(try await daemon.warnings().isEmpty)
            let faults = try await daemon.faults(
                "config.set", ["patch": ["dispatchers": ["collect": ["colour": "blue"]]]])
            #expect(faults.map { $0["path"].string } == ["dispatchers.collect.colour"])
            try await daemon.set(["lenient": true])
            try await daemon.set(["dispatchers": ["collect": ["colour": "blue"]]])
            #expect(try await daemon.warnings().contains { $0.contains("dispatchers.collect.colour") })
            try await daemon.set(["dispatchers": ["collect": ["colour": .null]]])
            #expect(try await daemon.warnings().isEmpty)
        }
    }
}
