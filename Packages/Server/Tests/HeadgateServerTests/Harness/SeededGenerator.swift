// All random tests here take their chance from seeds.
@_exported import HeadgateSeeds

typealias SeededGenerator = SeededRandom

extension SeededRandom {
    /// For tests that number their runs themselves.
    init(seed: UInt64) {
        self.init(seed: Seed(seed))
    }
}
