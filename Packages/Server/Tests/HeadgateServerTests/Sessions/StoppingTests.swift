import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Flushes on network changes, and calls during a stop", .timeLimit(.minutes(5))) struct StoppingTests {
    private static let settings: DataObject = [
        "shutdown_timeout_ms": 600_000, "dispatchers": ["archive": nil, "collect": ["kind": "worker", "path": nil]],
    ]

    @Test("F5: when the network is back a flush begins, unless `flush_on` excludes it", arguments: [true, false])
    func networkReturns(isOn: Bool) async throws {
        let settings: DataObject = [
            "flush_on": ["connected": .bool(isOn), "start": false],
            "barriers": [
                "BatchingBarrier": ["configuration": ["batch_size": 25]],
                "ConnectivityBarrier": ["scopes": ["archive", "collect"]],
            ],
        ]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            try await stage.inspect { $0.gate.network.value = .connected(.ethernet) }
            try await client.call("track", ["event": "signup", "dispatchers": ["collect"]])
            try await stage.inspect { service in
                service.gate.network.value = .disconnected
                service.gate.network.value = .connected(.wifi)
            }
            let isFlushed = try await stage.inspect { service in
                service.gate.dispatcherSummaries.contains {
                    $0.id == "collect" && ($0.isFlushing || $0.counters[.sent] == 1)
                }
            }
            #expect(isFlushed == isOn)
        }
    }

    @Test("D11: a stop answers every waiting call before it closes the connection")
    func waitsAnswered() async throws {
        try await ServiceStage.run(StoppingTests.settings) { stage in
            let client = try await stage.client()
            try await client.call("dispatcher.pause", ["id": "collect"])
            try await client.call("track", ["event": "signup", "dispatchers": ["collect"]])
            let flush = await client.request("flush", ["wait": true, "timeout_ms": 0])
            let board = await client.activate("nowhere", ["wait_ms": 600_000])
            try await client.call("ping")
            try await stage.inspect { $0.stop { _ in } }
            let end = try await client.answer(to: flush)
            #expect(end["ended"] == "cancelled" && end["dispatchers"]["collect"]["left"] == 1)
            #expect(["shutting_down", "provider_lost"].contains(try await client.error(to: board).reason))
        }
    }

    @Test("D11: while a stop waits for batches in flight, new requests are refused")
    func refusals() async throws {
        try await ServiceStage.run(StoppingTests.settings) { stage in
            let (worker, client) = (try await stage.client(), try await stage.client())
            try await worker.call("dispatcher.subscribe", ["id": "collect"])
            try await client.call("track", ["event": "signup"])
            let batch = try await worker.batch()
            try await stage.inspect { $0.stop { _ in } }
            let event: DataObject = ["event": "login"]
            let calls: [(String, DataObject)] = [
                ("track", event), ("track_many", ["events": [.object(event)]]), ("board.activate", ["board": "login"]),
            ]
            for (method, params) in calls {
                #expect(try await client.refusal(method, params).reason == "shutting_down")
            }
            try await client.call("ping")
            await worker.answer(batch)
        }
    }

    @Test("D11: a stop answers a call that waits for a hanging disk before it closes the connection")
    func waitingForTheDisk() async throws {
        let adding: ServiceStage.Adding = { $0.makeStore = { FaultyStore(scheduler: $0) } }
        try await ServiceStage.run(timeStands: true, adding: adding) { stage in
            let client = try await stage.client()
            try await stage.inspect { service in
                let store = try #require(service.gate.events.store as? FaultyStore)
                store.isSilent = true
            }
            let pause = await client.request("dispatcher.pause", ["id": "archive"])
            try await client.call("ping")
            try await stage.inspect { $0.stop { _ in } }
            try await stage.advance(by: .seconds(5))
            #expect(try await client.message(to: pause)["error"]["data"]["reason"] == "shutting_down")
        }
    }
}
