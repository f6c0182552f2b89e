import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("What a service that stops says", .timeLimit(.minutes(5))) struct StoppingTests {
    private static let settings: DataObject = [
        "shutdown_timeout_ms": 600_000, "dispatchers": ["archive": nil, "collect": ["kind": "worker", "path": nil]],
    ]

    @Test("D11: while what is in flight comes to its end, nothing new is taken")
    func refusals() async throws {
        try await ServiceStage.run(StoppingTests.settings) { stage in
            let (worker, client) = (try await stage.client(), try await stage.client())
            try await worker.call("dispatcher.subscribe", ["id": "collect"])
            try await client.call("track", ["event": "signup"])
            let batch = try await worker.batch()
            try await stage.look { $0.stop {} }
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
}
