import Glibc
import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

/// Tests collectors that an embedding program adds.
@Suite struct OwnCollectorTests {
    @Test("P2: a program's collector adds members to the context, and cannot override those of built-in collectors")
    func adds() async throws {
        let till = Till { origin in
            ["till": 7, "of": .string(origin.client ?? "nobody"), "pid": 1]
        }
        let adding: ServiceStage.Adding = { $0.addCollector(till()) }
        try await ServiceStage.run(["collectors": ["host": false]], adding: adding) { stage in
            let client = try await stage.client("shop/2.1")
            try await client.call("track", ["event": "sale"])
            let context = try await stage.events(of: "collect", after: client)[0]["context"]
            #expect(context["till"] == 7)
            #expect(context["of"] == "shop/2.1")
            #expect(context["pid"] == .number(DataNumber(Int(getpid()))))
            #expect(context["host"] == .null)
        }
    }

    @Test("P2: a collector that throws is counted and skipped; the other collectors still add their members")
    func throwing() async throws {
        let broken = Till(id: "broken") { _ in throw Unplugged() }
        let till = Till { _ in ["till": 7] }
        let adding: ServiceStage.Adding = {
            $0.addCollector(broken())
            $0.addCollector(till())
        }
        try await ServiceStage.run(adding: adding) { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "one"])
            try await client.call("track_many", ["events": [["event": "two"], ["event": "three"]]])
            let events = try await stage.events(of: "collect", after: client)
            #expect(events.map { $0["event"] } == ["one", "two", "three"])
            #expect(events.allSatisfy { $0["context"]["till"] == 7 && $0["context"]["uid"] != .null })
            #expect(try await client.call("status")["counters"]["collector_errors"] == 3)
        }
    }

    @Test("P2: settings can switch a program's collector off and on while the service runs")
    func switchedOff() async throws {
        let till = Till { _ in ["till": 7] }
        let adding: ServiceStage.Adding = { $0.addCollector(till()) }
        try await ServiceStage.run(adding: adding) { stage in
            let client = try await stage.client()
            try await client.call("config.set", ["patch": ["collectors": ["till": false]]])
            #expect(try await client.call("status")["warnings"] == [])
            try await client.call("track", ["event": "sale"])
            try await client.call("config.set", ["patch": ["collectors": ["till": .null]]])
            try await client.call("track", ["event": "sale"])
            let contexts = try await stage.events(of: "collect", after: client).map { $0["context"]["till"] }
            #expect(contexts == [.null, 7])
        }
    }

    @Test("P4: load rules see the members that a collector adds")
    func seen() async throws {
        let till = Till { _ in ["till": "north"] }
        let settings: DataObject = [
            "load_rules": ["ours": ["operator": "equals", "path": "context.till", "value": "north"]],
            "dispatchers": ["archive": ["load_rule": ["not": "ours"]], "collect": ["load_rule": "ours"]],
        ]
        let adding: ServiceStage.Adding = { $0.addCollector(till()) }
        try await ServiceStage.run(settings, adding: adding) { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "sale"])
            #expect(try await stage.events(of: "collect", after: client).count == 1)
            #expect(try await stage.events(of: "archive", after: client).count == 0)
        }
    }
}

/// A collector that calls a closure.
private struct Till: Sendable {
    var id = "till"
    let collect: @Sendable (EventOrigin) throws -> DataObject

    init(id: String = "till", _ collect: @escaping @Sendable (EventOrigin) throws -> DataObject) {
        self.id = id
        self.collect = collect
    }

    func callAsFunction() -> some Collector {
        TillCollector(maker: self)
    }
}

private final class TillCollector: Collector {
    let maker: Till

    var id: String { maker.id }

    init(maker: Till) {
        self.maker = maker
    }

    func collect(_ origin: EventOrigin) throws -> DataObject {
        try maker.collect(origin)
    }
}

private struct Unplugged: Error {}
