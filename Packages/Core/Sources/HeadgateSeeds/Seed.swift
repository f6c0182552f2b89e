/// The seed of a random test. A failing test prints it, and the same seed repeats the run.
public struct Seed: Hashable, Sendable, CustomStringConvertible {
    public let number: UInt64

    public init(_ number: UInt64) {
        self.number = number
    }

    /// The environment variable that repeats this run, such as `HEADGATE_SEED=7`.
    public var description: String { "\(Seeds.one)=\(number)" }
}

/// A generator whose random numbers are the same for the same seed (SplitMix64; Steele, Lea and Flood, 2014).
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: Seed) {
        state = seed.number
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns true with probability 1/`times`.
    public mutating func oneIn(_ times: Int) -> Bool {
        Int.random(in: 0..<times, using: &self) == 0
    }
}
