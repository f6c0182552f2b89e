// Makes Seeds available to all random tests of this target.
@_exported import HeadgateSeeds

extension SeededRandom {
    /// Creates a generator for tests that number their own runs.
    init(seed: UInt64) {
        self.init(seed: Seed(seed))
    }
}
