/// How often values came up to each of some bounds, and what they come to in all. Pure. To record a value costs a search among
/// some twenty bounds and nothing else: it allocates nothing.
public struct Histogram: Sendable, Equatable {
    /// The bounds that it counts by.
    public let scale: Scale
    /// Those between a bound and the one before it, and at the end those beyond the last.
    private var counts: [Int]
    /// All values together, in the scale's unit: a sum of 64 bits would not hold the nanoseconds that a million events wait.
    public private(set) var sum = 0.0
    /// How many values there were.
    public private(set) var count = 0

    /// Nothing has been recorded yet.
    public init(_ scale: Scale) {
        self.scale = scale
        counts = [Int](repeating: 0, count: scale.bounds.count + 1)
    }

    /// Records a value, as often as it was there.
    public mutating func record(_ value: Int64, times: Int = 1) {
        counts[scale.place(of: value)] += times
        sum += Double(value) * Double(times)
        count += times
    }

    /// Records a time, in a histogram of times.
    public mutating func record(_ time: Duration, times: Int = 1) {
        record(max(0, time.wholeNanoseconds), times: times)
    }

    /// How many values were no greater than each bound of the scale.
    public var cumulative: [Int] {
        var total = 0
        return counts.dropLast().map { count in
            total += count
            return total
        }
    }

    /// The sum in the unit that people are told: seconds, or things.
    public var sumAsTold: Double { sum / scale.divisor }
}

extension Histogram {
    /// The bounds of a histogram's buckets, in ascending order, each of them in its own bucket.
    public struct Scale: Sendable, Equatable {
        /// The bounds as values are recorded.
        public let bounds: [Int64]
        /// By what values and bounds are divided before they are told.
        public let divisor: Double

        /// The bounds as they are told, as JSON has them.
        public let boundsAsTold: [String]

        init(bounds: [Int64], divisor: Double) {
            (self.bounds, self.divisor) = (bounds, divisor)
            boundsAsTold = bounds.map { (Double($0) / divisor).description }
        }

        /// Times, recorded in nanoseconds and told in seconds: from 10 µs to 10 min.
        public static let seconds = Scale(
            bounds: [
                10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
                1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000, 120_000_000, 300_000_000,
                600_000_000,
            ].map { $0 * 1_000 }, divisor: 1_000_000_000)

        /// Numbers of events in a batch.
        public static let events = Scale(
            bounds: [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000], divisor: 1)

        /// The bucket of a value: that of the first bound that is no less.
        fileprivate func place(of value: Int64) -> Int {
            var low = 0
            var high = bounds.count
            while low < high {
                let middle = (low + high) / 2
                if bounds[middle] < value { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }
}
