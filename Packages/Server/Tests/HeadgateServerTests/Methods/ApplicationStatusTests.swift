import HeadgateData
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

@Suite("application.status", .timeLimit(.minutes(5)))
struct ApplicationStatusTests {
    /// Settings with a barrier that holds events until 25 are pending, or until a flush.
    private static let batching: DataObject = [
        "barriers": ["BatchingBarrier": ["barrier_id": "BatchingBarrier", "configuration": ["batch_size": 25]]]
    ]

    @Test(
        "F5: a change of a client's application status starts a flush",
        arguments: ["background", "foreground", "exiting", "backgrounded", "foregrounded", "initialized"])
    func flushes(_ status: String) async throws {
        try await ServiceStage.run(Self.batching) { stage in
            let client = try await stage.client()
            try await client.watch("outcomes")
            try await client.call("track", ["event": "signup", "dispatchers": ["collect"]])
            #expect(try await client.listedDispatcher("collect")["pending"] == 1)
            #expect(try await client.call("application.status", ["status": .string(status)]) == [:])
            let outcome = try await client.notification()["outcomes"].element(where: "dispatcher", is: "collect")
            #expect(outcome["delivered"] == 1)
        }
    }

    @Test(
        "F5: a change to a status that `flush_on` excludes starts no flush",
        arguments: ["background", "foreground", "exiting"])
    func switchedOff(_ status: String) async throws {
        var settings = Self.batching
        settings["flush_on"] = .object([status: false])
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "signup"])
            try await client.call("application.status", ["status": .string(status)])
            let dispatcher = try await client.listedDispatcher("collect")
            #expect(dispatcher["flushing"] == false)
            #expect(dispatcher["pending"] == 1)
        }
    }

    @Test("F5: reporting the same status again starts no flush")
    func unchanged() async throws {
        try await ServiceStage.run(Self.batching) { stage in
            let client = try await stage.client()
            try await client.call("application.status", ["status": "background"])
            try await client.call("track", ["event": "signup"])
            try await client.call("application.status", ["status": "background"])
            #expect(try await client.listedDispatcher("collect")["flushing"] == false)
            #expect(try await client.listedDispatcher("collect")["pending"] == 1)
        }
    }

    @Test(
        "F5: 50 changes of status cause one flush for each dispatcher, which covers all events and has no timeout"
    )
    func restless() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("barrier.register", ["id": "door", "state": "closed", "flushable": false])
            for round in 0..<50 {
                try await client.call("track", ["event": "signup"])
                try await client.call("application.status", ["status": round % 2 == 0 ? "background" : "foreground"])
            }
            #expect(try await stage.inspect { $0.gate.dispatcherSummaries.map(\.isFlushing) } == [true, true])
            let flushes = try await stage.inspect { $0.gate.flushes.table.flushes.map { ($0.parts, $0.deadline) } }
            #expect(flushes.count == 2 && flushes.allSatisfy { $0.1 == nil })
            #expect(flushes.flatMap { $0.0.values.map(\.left) } == [50, 50])
        }
    }

    @Test("B26: statuses of disconnected clients no longer count")
    func gone() async throws {
        try await ServiceStage.run { stage in
            let watcher = try await stage.client()
            let client = try await stage.client()
            try await client.call("application.status", ["status": "background"])
            #expect(try await stage.inspect { $0.gate.clientStatuses.value.overall } == .background)
            try await watcher.watch("clients")
            await client.close()
            #expect(try await watcher.notification()["count"] == 1)
            #expect(try await stage.inspect { $0.gate.clientStatuses.value.overall } == nil)
        }
    }

    @Test("F5: an unknown status is refused as invalid params")
    func unknown() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let refusal = try await client.refusal("application.status", ["status": "asleep"])
            #expect(refusal.code == -32602)
            #expect(refusal.path == "status")
            #expect(try await client.refusal("application.status").path == "status")
        }
    }
}
