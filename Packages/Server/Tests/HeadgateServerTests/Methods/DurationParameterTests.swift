import HeadgateData
import Testing

@testable import HeadgateServer

/// X2: durations that clients give are at most a day; `ttl_ms` aside.
@Suite("Durations of clients", .timeLimit(.minutes(5)))
struct DurationParameterTests {
    /// Where a duration may stand: the method, its path, and the params with this one.
    private static let places: [(method: String, path: String, params: @Sendable (DataItem) -> DataObject)] = [
        ("flush", "timeout_ms", { ["timeout_ms": $0] }),
        ("board.activate", "timeout_ms", { ["board": "b", "timeout_ms": $0] }),
        ("board.activate", "wait_ms", { ["board": "served", "wait_ms": $0] }),
        ("board.serve", "barrier.timeout_ms", { ["board": "b", "barrier": ["board": "c", "timeout_ms": $0]] }),
        ("board.serve", "barrier.sticky_ms", { ["board": "b", "barrier": ["board": "c", "sticky_ms": $0]] }),
    ]
    private static let day = 86_400_000

    @Test("X2: more than a day is refused with its path, a day is not", arguments: places.indices)
    func atMostADay(place: Int) async throws {
        let (method, path, params) = Self.places[place]
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            for longer in [DataItem.number(DataNumber(Self.day + 1)), .number(DataNumber(Int.max))] {
                let refusal = try await client.refusal(method, params(longer))
                #expect(refusal.code == -32_602)
                #expect(refusal.path == path)
            }
            let served = try await stage.client()
            try await served.serve("served")
            let request = await client.request(method, params(.number(DataNumber(Self.day))))
            if path == "wait_ms" { try await served.runNext() }
            let error = try await client.message(to: request)["error"]
            #expect(error["code"] != -32_602)
        }
    }

    @Test("ttl_ms may be longer than a day")
    func timeToLive() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "x", "ttl_ms": .number(DataNumber(30 * Self.day))])
        }
    }
}
