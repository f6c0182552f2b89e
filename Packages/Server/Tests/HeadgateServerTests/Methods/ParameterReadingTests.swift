import HeadgateData
import HeadgateSeeds
import Testing

@testable import HeadgateServer

/// Tests every method with random parameters.
@Suite struct OddParameterTests {
    @Test(
        "X3: with random parameters every request of every method is answered, and the service continues",
        arguments: Seeds.first(2))
    func everyMethod(seed: Seed) async throws {
        try await ServiceStage.run { stage in
            var chance = SeededRandom(seed: seed)
            let client = try await stage.client()
            for round in 1...1_000 {
                let method = MethodTable.all.randomElement(using: &chance)?.name.description ?? ""
                let params = Self.params(using: &chance)
                let id = await client.request(method, params)
                do {
                    _ = try await client.answer(to: id)
                } catch let refusal as Refusal {
                    #expect(refusal.code != 0 && !refusal.message.isEmpty, "round \(round): \(method) \(params)")
                }
            }
            try await client.call("ping")
        }
    }

    /// Returns params with known members and random values, some of which are valid.
    private static func params(using chance: inout SeededRandom) -> DataObject {
        var params: DataObject = [:]
        for _ in 0..<Int.random(in: 0...6, using: &chance) {
            params[names.randomElement(using: &chance) ?? ""] = values.randomElement(using: &chance)
        }
        return params
    }

    /// The names of members that the params may have, without `wait` and `wait_ms`, because a call with them may
    /// never get an answer.
    private static let names = [
        "event", "events", "id", "key", "time", "dispatchers", "ttl_ms", "data", "flush", "timeout_ms", "topics",
        "watch",
        "scopes", "state", "flushable", "on_disconnect", "dispatcher", "reason", "force", "status", "client",
        "namespace",
        "protocol", "patch", "persist", "layer", "limit", "before_seq", "after", "letters", "credit",
    ]

    private static let values: [DataItem] = [
        .null, true, false, 0, 1, -1, 1.5, .number(DataNumber(Int.max)), .number(DataNumber(Int.min)),
        .number(DataNumber(unchecked: "1e999")), .number(DataNumber(unchecked: String(repeating: "9", count: 400))), "",
        "a", "collect", "archive", "all", "open", "closed", "background", "keep", "dispatchers", "\u{0}", "\u{FFFD}",
        "uid:0", "flush-1", "watch-1", "BackoffBarrier:collect", "ManualBarrier:archive", "2026-02-29T00:00:00Z",
        "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999999999-23:59",
        .string(String(repeating: "x", count: 2_000)),
        [], [[]], ["collect"], ["collect", "collect"], [.null, 1, "a"], [:], ["name": "x"], ["event": "x"],
        [["event": "x"]], [["event": "x", "ttl_ms": .number(DataNumber(Int.max))], ["event": 1]],
        ["limits": ["max_unanswered": .number(DataNumber(Int.max))]], ["dispatchers": ["collect": .null]],
        ["store": ["max_age_s": .number(DataNumber(Int.max))]], ["flush_on": ["background": false]], ["": .null],
    ]
}

/// Tests the limit of durations in params (Behaviour X2): a day, except for `ttl_ms`.
@Suite("Durations of clients", .timeLimit(.minutes(5)))
struct DurationParameterTests {
    /// All durations in params: the method, the parameter's path, and a function that makes the params.
    private static let durations: [(method: String, path: String, params: @Sendable (DataItem) -> DataObject)] = [
        ("flush", "timeout_ms", { ["timeout_ms": $0] }),
        ("board.activate", "timeout_ms", { ["board": "b", "timeout_ms": $0] }),
        ("board.activate", "wait_ms", { ["board": "served", "wait_ms": $0] }),
        ("board.serve", "barrier.timeout_ms", { ["board": "b", "barrier": ["board": "c", "timeout_ms": $0]] }),
        ("board.serve", "barrier.sticky_ms", { ["board": "b", "barrier": ["board": "c", "sticky_ms": $0]] }),
    ]
    private static let day = 86_400_000

    @Test(
        "X2: a duration of a day is accepted, and a longer one is refused with its path", arguments: durations.indices)
    func atMostADay(index: Int) async throws {
        let (method, path, params) = Self.durations[index]
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
