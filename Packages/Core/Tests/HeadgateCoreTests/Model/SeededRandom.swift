// All random tests in this target draw from seeds.
@_exported import HeadgateSeeds

extension SeededRandom {
    /// For tests that number their own runs.
    init(seed: UInt64) {
        self.init(seed: Seed(seed))
    }
}
