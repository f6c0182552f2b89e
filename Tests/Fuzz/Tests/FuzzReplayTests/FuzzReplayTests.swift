import HeadgateSeeds
import Testing

/// The short run of the fuzz targets, with the inputs in `Tests/Fixtures/fuzz` and random variations. `Tools/fuzz` is
/// the long one. Each runs in a process of its own, which prints its seeds (``Seeds``).
@Suite("X3: random inputs", .timeLimit(.minutes(5)))
struct FuzzReplayTests {
    @Test("X3: any answer of HTTP, JetStream and workers is interpreted correctly, and reveals no secret")
    func answers() async {
        await #expect(processExitsWith: .success) {
            for target in [FuzzTarget.answers, .endpoints, .http, .streams, .workers] {
                try Replay.run(target, rounds: 1_000)
            }
        }
    }

    @Test("Q8: any frames of the log are read or skipped, and written data reads the same")
    func stored() async {
        await #expect(processExitsWith: .success) {
            for target in [FuzzTarget.blobs, .records] { try Replay.run(target, rounds: 3_000) }
            try Replay.run(.segments, rounds: 500)
        }
    }

    @Test("The Swift client accepts any messages of a daemon, and each call ends once")
    func client() async {
        await #expect(processExitsWith: .success) { try Replay.run(.client, rounds: 2_000) }
    }

    @Test("X3: the framer agrees with a simple split of the stream, whatever its pieces")
    func framer() async {
        await #expect(processExitsWith: .success) { try Replay.run(.framer, rounds: 5_000) }
    }

    @Test("X3: any accepted message can be traversed completely, and reads the same after writing")
    func message() async {
        await #expect(processExitsWith: .success) { try Replay.run(.message, rounds: 5_000) }
    }

    @Test("B21: for any kernel messages the network state agrees with a simple model")
    func netlink() async {
        await #expect(processExitsWith: .success) { try Replay.run(.netlink, rounds: 3_000) }
    }

    @Test("S5: conditions and paths agree for a message and the parsed event")
    func rules() async {
        await #expect(processExitsWith: .success) { try Replay.run(.rules, rounds: 1_500) }
    }

    @Test("X3: any text yields settings or errors, and settings merged into themselves do not change")
    func settings() async {
        await #expect(processExitsWith: .success) { try Replay.run(.settings, rounds: 1_500) }
    }

    @Test("B24: any accepted time zone has an offset for every moment, and schedules follow it")
    func times() async {
        await #expect(processExitsWith: .success) {
            for target in [FuzzTarget.times, .zones] { try Replay.run(target, rounds: 3_000) }
            try Replay.run(.schedules, rounds: 500)
        }
    }

    @Test("Any environment variables lead to valid results")
    func variables() async {
        await #expect(processExitsWith: .success) { try Replay.run(.variables, rounds: 2_000) }
    }

    @Test("Every target has initial inputs")
    func corpora() throws {
        for target in FuzzTarget.allCases {
            let longest = try Replay.corpus(target).map(\.count).max() ?? 0
            #expect(1...target.longestInput ~= longest, "\(target)")
        }
    }

    @Test("The same seed creates the same inputs, and few of them are equal")
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
