import HeadgateData
import HeadgateSeeds
import Testing

@testable import HeadgateServer

/// Every method with parameters that nobody would send.
@Suite struct OddParameterTests {
    @Test(
        "X3: whatever the parameters of whatever method, every request is answered and the service goes on",
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

    /// Some members that methods know, with values that fit now and then.
    private static func params(using chance: inout SeededRandom) -> DataObject {
        var params: DataObject = [:]
        for _ in 0..<Int.random(in: 0...6, using: &chance) {
            params[names.randomElement(using: &chance) ?? ""] = values.randomElement(using: &chance)
        }
        return params
    }

    /// Not `wait` and `wait_ms`: who waits for what never comes is not answered.
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
