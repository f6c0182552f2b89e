// All random tests in this target draw from seeds.
@_exported import HeadgateSeeds

typealias SplitMix = SeededRandom

extension SeededRandom {
    /// For tests that number their own runs.
    init(state: UInt64) {
        self.init(seed: Seed(state))
    }
}
