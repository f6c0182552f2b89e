import HeadgateCore
import HeadgateData
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// Tests that `track_many` stores all events or none when collectors and transformations change their sizes.
@Suite("track_many near the limits", .timeLimit(.minutes(5)))
struct TrackManyTests {
    private static let full: DataObject = ["store": ["max_events": 2]]

    /// Returns a function that adds a collector, which adds this many bytes to each event.
    private static func padding(_ bytes: Int) -> ServiceStage.Adding {
        { $0.addCollector(PaddingCollector(bytes: bytes)) }
    }

    private static func list(_ ids: [String?]) -> DataObject {
        ["events": .array(ids.map { $0.map { ["event": "x", "id": .string($0)] } ?? ["event": "x"] })]
    }

    private static func pause(_ client: LineClient) async throws {
        for id in ["collect", "archive"] { try await client.call("dispatcher.pause", ["id": .string(id)]) }
    }

    @Test("Q4: members that collectors add count for limits; a list that exceeds a limit with them is refused")
    func collected() async throws {
        let settings: DataObject = ["store": ["max_bytes": 5_000]]
        try await ServiceStage.run(settings, adding: Self.padding(1_000)) { stage in
            let client = try await stage.client()
            try await Self.pause(client)
            #expect(
                try await client.refusal("track_many", Self.list(["a", "b", "c", "d", "e"])).reason == "event_too_large"
            )
            #expect(try await client.call("status")["store"]["events"] == 0)
            try await client.call("track_many", Self.list(["a", "b"]))
            #expect(try await client.refusal("track_many", Self.list(["c", "d", "e"])).reason == "queue_full")
            let status = try await client.call("status")
            #expect(status["store"]["events"] == 2)
            #expect(status["counters"]["received"] == 10 && status["counters"]["rejected"] == 8)
        }
    }

    @Test("Q4: data that a transformation removes does not count for limits; a list that fits without it is stored")
    func transformed() async throws {
        let settings: DataObject = [
            "store": ["max_bytes": 4_096],
            "transformations": [["id": "t", "scopes": "afterCollectors", "remove": ["data.padding"]]],
        ]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            let data: DataItem = ["padding": .string(String(repeating: "x", count: 3_000)), "kept": 1]
            let events: DataItem = .array(["a", "b"].map { ["event": "x", "id": .string($0), "data": data] })
            try await client.call("track_many", ["events": events])
            let data1 = try await stage.events(of: "collect", after: client).map { $0["data"] }
            #expect(data1 == [["kept": 1], ["kept": 1]])
        }
    }

    @Test(
        "Q7: a full store acknowledges a list of duplicates, and refuses a list with a new event"
    )
    func repeats() async throws {
        try await ServiceStage.run(Self.full) { stage in
            let client = try await stage.client()
            try await Self.pause(client)
            try await client.call("track_many", Self.list(["a", "b"]))
            let again = try await client.call("track_many", Self.list(["b", "a", "b"]))
            #expect(again["duplicates"] == 3 && again["first_seq"] == 1 && again["last_seq"] == 2)
            #expect(try await client.refusal("track_many", Self.list(["a", "c"])).reason == "queue_full")
            #expect(try await client.refusal("track_many", Self.list(["a", nil])).reason == "queue_full")
            let status = try await client.call("status")
            #expect(status["store"]["events"] == 2)
            #expect(status["counters"]["duplicates"] == 3 && status["counters"]["rejected"] == 4)
        }
    }

    @Test("Q7: a list that fills the store completely may contain duplicates of its own events")
    func twiceInOne() async throws {
        try await ServiceStage.run(Self.full) { stage in
            let client = try await stage.client()
            try await Self.pause(client)
            let answer = try await client.call("track_many", Self.list(["a", "b", "a", "b"]))
            #expect(answer["duplicates"] == 2 && answer["last_seq"] == 2)
            #expect(try await client.call("status")["store"]["events"] == 2)
        }
    }

    @Test("P2, P4: collectors and transformations run once for each event of a list")
    func once() async throws {
        let collector = PaddingCollector(bytes: 1)
        let requested = collector.requested
        // Unsafe: from here on only the service's loop uses the collector.
        nonisolated(unsafe) let lent = collector
        let settings: DataObject = [
            "transformations": [["id": "t", "scopes": "afterCollectors", "set": ["data.a.b": 1]]]
        ]
        let adding: ServiceStage.Adding = { $0.addCollector(lent) }
        try await ServiceStage.run(settings, adding: adding) { stage in
            let client = try await stage.client()
            let wrong: DataItem = ["event": "x", "data": ["a": 7]]
            let right: DataItem = ["event": "x"]
            try await client.call("track_many", ["events": [wrong, right, wrong]])
            #expect(requested.count == 3)
            #expect(try await client.call("status")["counters"]["transformation_errors"] == 2)
        }
    }

    @Test("P6: each event of a list has its own id, context and transformed data")
    func apart() async throws {
        let settings: DataObject = [
            "transformations": [["id": "t", "scopes": "afterCollectors", "rename": ["data.from": "data.to"]]]
        ]
        try await ServiceStage.run(settings, adding: Self.padding(9_000)) { stage in
            let client = try await stage.client()
            let events = (0..<5).map { DataItem.object(["event": "x", "data": ["from": .number(DataNumber($0))]]) }
            let ids = try await client.call("track_many", ["events": .array(events)])["ids"].elements
            let stored = try await stage.events(of: "collect", after: client)
            #expect(stored.map { $0["id"] } == ids)
            #expect(Set(ids.map { "\($0)" }).count == 5)
            #expect(stored.map { $0["data"]["to"] } == (0..<5).map { .number(DataNumber($0)) })
            #expect(stored.map { $0["context"]["number"] } == (1...5).map { .number(DataNumber($0)) })
        }
    }
}

/// A collector that adds the number of its call and this many bytes to each event.
private final class PaddingCollector: Collector {
    let id = "padding"
    let requested = Requested()
    private let bytes: Int

    init(bytes: Int) {
        self.bytes = bytes
    }

    func collect(_ origin: EventOrigin) -> DataObject {
        ["number": .number(DataNumber(requested.next())), "padding": .string(String(repeating: "x", count: bytes))]
    }
}

/// A thread-safe counter of a collector's calls.
private final class Requested: Sendable {
    private let times = Guarded(0)

    var count: Int { times.withLock { $0 } }

    func next() -> Int {
        times.withLock { times in
            times += 1
            return times
        }
    }
}
