// All random tests here take their chance from seeds.
@_exported import HeadgateSeeds

typealias SplitMix = SeededRandom

extension SeededRandom {
    /// For tests that number their runs themselves.
    init(state: UInt64) {
        self.init(seed: Seed(state))
    }
}
