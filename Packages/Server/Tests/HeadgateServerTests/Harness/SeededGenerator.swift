// All random tests of this target use `SeededRandom`, so that every failure can be reproduced.
@_exported import HeadgateSeeds

typealias SeededGenerator = SeededRandom

extension SeededRandom {
    /// Creates a generator from a number. For tests that number their runs themselves.
    init(seed: UInt64) {
        self.init(seed: Seed(seed))
    }
}
