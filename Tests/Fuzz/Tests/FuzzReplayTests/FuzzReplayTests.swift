import HeadgateSeeds
import Testing

/// The short run of the fuzzers' targets: what is in `Tests/Fixtures/fuzz`, and what chance makes of it. `Tools/fuzz` is
/// the long one. Each in a process of its own, which tells its seeds (``Seeds``).
@Suite("X3: inputs at random", .timeLimit(.minutes(5)))
struct FuzzReplayTests {
    @Test("X3: the framer finds the same lines as a plain reading, however a stream is cut")
    func framer() async {
        await #expect(processExitsWith: .success) { try Replay.run(.framer, rounds: 5_000) }
    }

    @Test("X3: whatever the message decoder takes can be looked at all over, and reads the same again")
    func message() async {
        await #expect(processExitsWith: .success) { try Replay.run(.message, rounds: 5_000) }
    }

    @Test("X3: any text is settings or has faults, and settings laid over themselves are the same")
    func settings() async {
        await #expect(processExitsWith: .success) { try Replay.run(.settings, rounds: 1_500) }
    }

    @Test("The same seed makes the same inputs, and few of them are alike")
    func seeds() throws {
        func inputs(_ seed: UInt64) throws -> [[UInt8]] {
            var mutator = Mutator(corpus: try Replay.corpus(.message), seed: Seed(seed))
            return (1...100).map { _ in mutator.next() }
        }
        #expect(try inputs(7) == inputs(7))
        #expect(try inputs(7) != inputs(8))
        #expect(Set(try inputs(7)).count > 80)
    }
}
