import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateServer

/// Tests that an event is acknowledged when its commit has ended.
@Suite struct AcknowledgementTests {
    @Test(
        "P1: an event that arrives during a group commit is acknowledged with the next commit group"
    )
    func groupByGroup() async throws {
        try await withHeldStore { stage, client in
            let first = await client.request("track", ["event": "first"])
            try await client.call("ping")
            let second = await client.request("track", ["event": "second"])
            try await client.call("ping")
            #expect(await !client.hasAnswer(to: first))

            try await stage.releaseAppend()
            #expect(try await client.answer(to: first)["seq"] == 1)
            try await client.call("ping")
            #expect(await !client.hasAnswer(to: second))

            try await stage.releaseAppend()
            #expect(try await client.answer(to: second)["seq"] == 2)
        }
    }

    @Test("P1: a duplicate of an event that is being committed is acknowledged after the commit")
    func repeatOfAnUnsafeEvent() async throws {
        try await withHeldStore { stage, client in
            let first = await client.request("track", ["event": "first", "id": "1"])
            try await client.call("ping")
            let again = await client.request("track", ["event": "first", "id": "1"])
            try await client.call("ping")
            #expect(await !client.hasAnswer(to: again))
            try await stage.releaseAppend()
            #expect(try await client.answer(to: again)["duplicate"] == true)
            #expect(try await client.answer(to: first)["seq"] == 1)
        }
    }

    @Test("P1, Q5: a failed commit refuses its events and those of the next commit group, each once")
    func failedCommit() async throws {
        try await withHeldStore { stage, client in
            try await stage.setStoreFault(.noRoom("full"))
            let first = await client.request("track", ["event": "first"])
            try await client.call("ping")
            let second = await client.request("track", ["event": "second"])
            try await client.call("ping")
            try await stage.setStoreFault(nil)
            for _ in 1...2 { try await stage.releaseAppend() }
            for request in [first, second] {
                let refusal = await #expect(throws: Refusal.self) { try await client.answer(to: request) }
                #expect(refusal?.reason == "storage")
            }
            let third = await client.request("track", ["event": "third"])
            try await client.call("ping")
            try await stage.releaseAppend()
            #expect(try await client.answer(to: third)["seq"] == 3)
        }
    }

    @Test("O3: client.list counts a failed commit for the client: rejected events and failed requests")
    func failuresOfAClient() async throws {
        try await withHeldStore { stage, client in
            try await stage.setStoreFault(.noRoom("full"))
            let requests = [
                await client.request("track", ["event": "alone"]), await client.request("track", ["event": "alone"]),
                await client.request("track_many", ["events": [["event": "a"], ["event": "b"]]]),
            ]
            try await client.call("ping")
            for _ in requests { try await stage.releaseAppend() }
            for request in requests { await #expect(throws: Refusal.self) { try await client.answer(to: request) } }
            let entry = try await client.call("client.list")["clients"].elements[0]
            #expect(entry["received"] == 4 && entry["rejected"] == 4)
            #expect(entry["failed"] == 3)
        }
    }

    /// Runs `body` with a service whose store ends a commit only by `releaseAppend()`.
    private func withHeldStore(_ body: (ServiceStage, LineClient) async throws -> Void) async throws {
        let adding: ServiceStage.Adding = { configuration in
            configuration.makeStore = { scheduler in
                let store = FaultyStore(scheduler: scheduler)
                store.holdsAppends = true
                return store
            }
        }
        try await ServiceStage.run(adding: adding) { stage in
            try await body(stage, stage.client())
        }
    }
}

extension ServiceStage {
    fileprivate func releaseAppend() throws {
        try inspect { ($0.gate.events.store as? FaultyStore)?.releaseAppend() }
    }

    fileprivate func setStoreFault(_ fault: StoreFault?) throws {
        try inspect { ($0.gate.events.store as? FaultyStore)?.memory.fault = fault }
    }
}

@Suite("The counts of received events", .timeLimit(.minutes(5)))
struct ReceivedCounterTests {
    @Test("P1: every valid event counts as received; an event for which the store has no room also counts as rejected")
    func fullStore() async throws {
        try await ServiceStage.run(["store": ["max_events": 2]]) { stage in
            let client = try await stage.client()
            for id in ["collect", "archive"] { try await client.call("dispatcher.pause", ["id": .string(id)]) }
            for id in ["a", "b", "a"] { try await client.call("track", ["event": "x", "id": .string(id)]) }
            for _ in 1...3 { #expect(try await client.refusal("track", ["event": "x"]).reason == "queue_full") }
            let many: DataItem = .array(Array(repeating: ["event": "x"], count: 10))
            #expect(try await client.refusal("track_many", ["events": many]).reason == "queue_full")
            #expect(try await client.refusal("track", ["event": 7]).code == -32602)
            let counters = try await client.call("status")["counters"]
            #expect(counters["received"] == 16 && counters["rejected"] == 13 && counters["duplicates"] == 1)
        }
    }
}
