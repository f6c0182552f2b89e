import HeadgateSeeds
import Testing

/// The short run of the fuzz targets, with the inputs in `Tests/Fixtures/fuzz` and random variations. `Tools/fuzz` is
/// the long one. Each runs in a process of its own, which prints its seeds (``Seeds``).
@Suite("X3: inputs at random", .timeLimit(.minutes(5)))
struct FuzzReplayTests {
    @Test("X3: whatever comes of HTTP, JetStream and workers means what it says, and tells no secret")
    func answers() async {
        await #expect(processExitsWith: .success) {
            for target in [FuzzTarget.answers, .endpoints, .http, .streams, .workers] {
                try Replay.run(target, rounds: 1_000)
            }
        }
    }

    @Test("Q8: whatever lies in the store's rows and frames is read or passed over, and what is written reads the same")
    func stored() async {
        await #expect(processExitsWith: .success) {
            for target in [FuzzTarget.blobs, .records] { try Replay.run(target, rounds: 3_000) }
            try Replay.run(.database, rounds: 500)
            try Replay.run(.segments, rounds: 500)
        }
    }

    @Test("The Swift client takes whatever a daemon says, and each call is told once what came of it")
    func client() async {
        await #expect(processExitsWith: .success) { try Replay.run(.client, rounds: 2_000) }
    }

    @Test("X3: the framer finds the same lines as a plain reading, however a stream is cut")
    func framer() async {
        await #expect(processExitsWith: .success) { try Replay.run(.framer, rounds: 5_000) }
    }

    @Test("X3: whatever the message decoder takes can be looked at all over, and reads the same again")
    func message() async {
        await #expect(processExitsWith: .success) { try Replay.run(.message, rounds: 5_000) }
    }

    @Test("B21: whatever the kernel sends, the network is what a plain look at all facts gives")
    func netlink() async {
        await #expect(processExitsWith: .success) { try Replay.run(.netlink, rounds: 3_000) }
    }

    @Test("S5: conditions and paths find the same in a message and in what was read of it")
    func rules() async {
        await #expect(processExitsWith: .success) { try Replay.run(.rules, rounds: 1_500) }
    }

    @Test("X3: any text is settings or has faults, and settings laid over themselves are the same")
    func settings() async {
        await #expect(processExitsWith: .success) { try Replay.run(.settings, rounds: 1_500) }
    }

    @Test("B24: whatever is taken for a zone tells the time at every moment, and schedules keep to it")
    func times() async {
        await #expect(processExitsWith: .success) {
            for target in [FuzzTarget.times, .zones] { try Replay.run(target, rounds: 3_000) }
            try Replay.run(.schedules, rounds: 500)
        }
    }

    @Test("Whatever the environment says, what is found in it makes sense")
    func variables() async {
        await #expect(processExitsWith: .success) { try Replay.run(.variables, rounds: 2_000) }
    }

    @Test("Every target has inputs to begin with")
    func corpora() throws {
        for target in FuzzTarget.allCases {
            let longest = try Replay.corpus(target).map(\.count).max() ?? 0
            #expect(1...target.longestInput ~= longest, "\(target)")
        }
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
