import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Random histories of a session")
struct SessionModelTests {
    @Test("X2: the account counts the outstanding work, lines are read only while there is room, and no session hangs")
    func rulesHold() {
        for seed: UInt64 in 1...1_200 {
            var history = SessionHistory(seed: seed)
            do {
                try history.run(steps: 120)
            } catch {
                Issue.record("seed \(seed): \(error)")
                return
            }
        }
    }
}

extension SessionModelTests {
    @Test(
        "X2, X3: over a real socket each request is answered once, and each session is released",
        arguments: 1...12 as ClosedRange<UInt64>)
    func liveHistories(seed: UInt64) async throws {
        let limits: DataObject = [
            "max_unanswered": .number(DataNumber(Int(1 + seed % 5))), "max_unanswered_bytes": 2_000,
            "max_output_bytes": 4_000, "max_line_bytes": 2_500,
        ]
        try await ServiceStage.run(["limits": .object(limits)]) { stage in
            let other = try await stage.client()
            try await other.call("dispatcher.pause", ["id": "archive"])
            try await other.call("track", ["event": "x"])
            var history = LiveHistory(seed: seed)
            try await history.run(stage, other: other)
        }
    }
}
