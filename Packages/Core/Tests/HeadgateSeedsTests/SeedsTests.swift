import Testing

@testable import HeadgateSeeds

@Suite struct SeedsTests {
    private func choice(_ variables: [String: String]) -> Seeds.Choice {
        Seeds.Choice(clock: { 1_000 }, { variables[$0] })
    }

    @Test("Seeds are the same each time by default")
    func defaults() {
        #expect(choice([:]).seeds(defaultCount: 3).map(\.number) == [1, 2, 3])
        #expect(choice([:]).announcement == nil)
        #expect(choice(["HEADGATE_SEEDS": "0"]) == .default)
        #expect(choice(["HEADGATE_SEEDS": "many", "HEADGATE_SEED": ""]) == .default)
    }

    @Test("A longer run takes its seeds from the clock, and prints them")
    func longer() throws {
        let choice = choice(["HEADGATE_SEEDS": "4"])
        #expect(choice.seeds(defaultCount: 1).map(\.number) == [1_000, 1_001, 1_002, 1_003])
        #expect(try #require(choice.announcement).contains("HEADGATE_SEED=1000 "))
    }

    @Test("A printed seed reproduces its run alone")
    func again() {
        let words = Seed(77).description.split(separator: "=").map(String.init)
        #expect(words.count == 2)
        let choice = choice([words[0]: words[words.count - 1], "HEADGATE_SEEDS": "9"])
        #expect(choice.seeds(defaultCount: 5) == [Seed(77)])
    }

    @Test("Equal seeds give equal numbers, and different seeds different ones")
    func numbers() {
        func some(_ seed: UInt64) -> [UInt64] {
            var random = SeededRandom(seed: Seed(seed))
            return (0..<4).map { _ in random.next() }
        }
        #expect(some(1) == some(1))
        #expect(some(1) != some(2))
    }
}
