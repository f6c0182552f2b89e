import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

@Suite("dead_letters.list, .requeue and .purge", .timeLimit(.minutes(5)))
struct DeadLetterMethodTests {
    /// Stores events `event-1`, `event-2` and so on as dead letters of a dispatcher.
    private func makeDeadLetters(_ numbers: ClosedRange<SequenceNumber>, of dispatcher: String, on stage: ServiceStage)
        async throws
    {
        try await stage.inspect { service in
            guard let number = service.gate.dispatchers.known[dispatcher]?.number else {
                throw Missing(what: dispatcher)
            }
            for event in numbers {
                service.gate.settlements.add(.deadLetter(Self.deadLetter(event, number)))
            }
        }
    }

    private static func deadLetter(_ event: SequenceNumber, _ dispatcher: DispatcherNumber) -> DeadLetter {
        DeadLetter(
            dispatcher: dispatcher, sequenceNumber: event, reason: .maxAttempts, status: 503, answer: "busy",
            attempts: 100, firstFailedAt: Timestamp(milliseconds: 5), diedAt: Timestamp(milliseconds: 6),
            record: AppendGroup.sample(event...event).chunk.bytes)
    }

    @Test("D10, O4: status counts the dead letters that the store dropped to make room")
    func dropped() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await stage.inspect { $0.gate.events.store.onDeadLettersDropped([1: 2, 2: 1]) }
            #expect(try await client.call("status")["counters"]["dropped_letters"] == 3)
        }
    }

    @Test("D10: dead letters are listed with all members, a page at a time")
    func list() async throws {
        try await ServiceStage.run { stage in
            try await makeDeadLetters(1...3, of: "collect", on: stage)
            try await makeDeadLetters(4...4, of: "archive", on: stage)
            let client = try await stage.client()
            let page = try await client.call("dead_letters.list", ["dispatcher": "collect", "limit": 2])
            #expect(page["next"] == 2)
            let deadLetter = page["dead_letters"].elements[0]
            #expect(
                deadLetter["letter"] == 1 && deadLetter["dispatcher"] == "collect"
                    && deadLetter["reason"] == "max_attempts")
            #expect(deadLetter["status"] == 503 && deadLetter["answer"] == "busy" && deadLetter["attempts"] == 100)
            #expect(deadLetter["first_failed_at"] == "1970-01-01T00:00:00.005Z")
            #expect(deadLetter["died_at"] == "1970-01-01T00:00:00.006Z")
            #expect(deadLetter["event"]["id"] == "event-1" && deadLetter["event"]["seq"] == 1)
            let rest = try await client.call("dead_letters.list", ["after": 2])
            #expect(rest["dead_letters"].elements.map { $0["dispatcher"] } == ["collect", "archive"])
            #expect(rest["next"] == .null)
        }
    }

    @Test("D10: requeued dead letters are sent by their dispatcher, and purged ones are deleted")
    func requeueAndPurge() async throws {
        try await ServiceStage.run { stage in
            try await makeDeadLetters(1...3, of: "collect", on: stage)
            let client = try await stage.client()
            let requeue: DataObject = ["dispatcher": "collect", "letters": [1, 2]]
            #expect(try await client.call("dead_letters.requeue", requeue) == ["count": 2])
            let events = try await stage.events(of: "collect", after: client)
            #expect(events.map { $0["id"] } == ["event-1", "event-2"])
            #expect(try await stage.events(of: "archive", after: client).isEmpty)
            #expect(try await client.call("dead_letters.purge") == ["count": 1])
            #expect(try await client.call("status")["counters"]["purged_letters"] == 1)
            #expect(try await client.call("dead_letters.list")["dead_letters"] == [])
        }
    }

    @Test(
        "An invalid parameter is reported with its path, an unknown dispatcher as not_found",
        arguments: [
            ("dead_letters.list", ["limit": 0], "limit"), ("dead_letters.list", ["limit": 1_001], "limit"),
            ("dead_letters.list", ["after": -1], "after"), ("dead_letters.list", ["dispatcher": 1], "dispatcher"),
            ("dead_letters.requeue", ["letters": 3], "letters"),
            ("dead_letters.requeue", ["letters": [3, "x"]], "letters[1]"),
            ("dead_letters.purge", ["letters": [1.5]], "letters[0]"),
            ("dead_letters.purge", ["dispatcher": nil], "dispatcher"),
            ("dead_letters.list", ["dispatcher": "nowhere"], nil),
            ("dead_letters.requeue", ["dispatcher": "nowhere"], nil),
            ("dead_letters.purge", ["dispatcher": "nowhere"], nil),
        ] as [(String, DataObject, String?)])
    func wrong(_ method: String, _ params: DataObject, _ path: String?) async throws {
        try await ServiceStage.run { stage in
            let refusal = try await stage.client().refusal(method, params)
            #expect(refusal.path == path)
            #expect(refusal.reason == (path == nil ? "not_found" : nil))
        }
    }
}
