import HeadgateClient
import HeadgateData
import HeadgateText
import Testing

@testable import HeadgateConsole

/// Tests the problems that the console shows to an operator.
@Suite("Problems")
struct ProblemsTests {
    private let clock = WallClock(now: Timestamp(milliseconds: 1_700_000_000_000)) { _ in 0 }

    private func titles(_ status: DataObject) -> [String] {
        var state = DaemonState()
        state.take(status: status, at: clock.now)
        return Problems(state: state, clock: clock).all.map(\.title)
    }

    private func held(by word: String) -> DataObject {
        [
            "ready": true, "dispatchers": [["id": "web", "state": "blocked", "blocked_by": ["b"]]],
            "barriers": [["id": "b", "word": .string(word), "states": ["web": "closed"], "flushable": true]],
        ]
    }

    @Test("A healthy daemon has no problems")
    func none() {
        #expect(titles(["ready": true, "counters": ["received": 5]]) == [])
    }

    @Test("Warnings of the status are shown as they are, and losses come first")
    func warnings() {
        let status: DataObject = [
            "ready": true, "warnings": ["barrier x: there is no dispatcher `y`"],
            "dispatchers": [["id": "web", "state": "open", "dead": 1, "expired": 2]],
        ]
        #expect(
            titles(status) == [
                "1 event of web dead-lettered",
                "2 events of web expired, by `max_age_s` or their `ttl_ms`",
                "barrier x: there is no dispatcher `y`",
            ])
    }

    @Test("A paused, unauthorized or client-blocked dispatcher is shown", arguments: ["manual", "connectivity", "own"])
    func holds(word: String) {
        #expect(titles(held(by: word)).first?.hasPrefix("b blocks web") == true)
    }

    @Test(
        "Barriers that open and close as intended are no problem",
        arguments: ["batching", "rate", "interval", "schedule"])
    func defaults(word: String) {
        #expect(titles(held(by: word)) == [])
    }

    @Test("Each counter of failures is shown once it is above zero")
    func counters() {
        let names = [
            "quarantined", "rejected", "rejected_connections", "slow_readers_closed", "line_too_long",
            "failed_notifications", "collector_errors", "barrier_errors", "transformation_errors",
        ]
        for name in names {
            #expect(
                titles(["ready": true, "counters": .object([name: 1_500])]).first?.hasPrefix("1 500 ") == true,
                "\(name)")
        }
    }

    @Test("An absent daemon has no other problem")
    func away() {
        var state = DaemonState()
        state.fail(ClientError.cannotConnect(path: "/s", cause: "no such socket"), at: clock.now)
        let problems = Problems(state: state, clock: clock).all
        #expect(problems.count == 1 && problems[0].isBad && problems[0].title.contains("no such socket"))
    }
}
