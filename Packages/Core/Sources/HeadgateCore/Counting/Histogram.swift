import HeadgateData

/// The counts of values in buckets, and their sum. Pure. Recording a value takes a search among some twenty bounds and
/// allocates nothing.
public struct Histogram: Sendable, Equatable {
    /// The bounds of the buckets.
    public let scale: Scale
    /// The number of values in each bucket; the last bucket has the values above all bounds.
    private var counts: [Int]
    /// The sum of all values in the scale's unit. A 64-bit integer could not hold the nanoseconds that a million events
    /// wait.
    public private(set) var sum = 0.0
    /// The number of values.
    public private(set) var count = 0

    /// Creates an empty histogram.
    public init(_ scale: Scale) {
        self.scale = scale
        counts = [Int](repeating: 0, count: scale.bounds.count + 1)
    }

    /// Records a value one or several times.
    public mutating func record(_ value: Int64, times: Int = 1) {
        counts[scale.index(of: value)] += times
        sum += Double(value) * Double(times)
        count += times
    }

    /// Records a duration in a histogram of times.
    public mutating func record(_ time: Duration, times: Int = 1) {
        record(max(0, time.wholeNanoseconds), times: times)
    }

    /// The numbers of values up to each bound of the scale.
    public var cumulative: [Int] {
        var total = 0
        return counts.dropLast().map { count in
            total += count
            return total
        }
    }

    /// The sum in the unit of reports: seconds, or a number of things.
    public var scaledSum: Double { sum / scale.divisor }
}

extension Histogram {
    /// The bounds of a histogram's buckets in ascending order. A bound belongs to its own bucket.
    public struct Scale: Sendable, Equatable {
        /// The bounds in the unit in which values are recorded.
        public let bounds: [Int64]
        /// The divisor that converts values and bounds to the unit of reports.
        public let divisor: Double

        /// The bounds in the unit of reports, as JSON.
        public let scaledBounds: [String]

        init(bounds: [Int64], divisor: Double) {
            (self.bounds, self.divisor) = (bounds, divisor)
            scaledBounds = bounds.map { (Double($0) / divisor).description }
        }

        /// A scale for times, recorded in nanoseconds and reported in seconds: from 10 µs to 10 min.
        public static let seconds = Scale(
            bounds: [
                10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
                1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000, 120_000_000, 300_000_000,
                600_000_000,
            ].map { $0 * 1_000 }, divisor: 1_000_000_000)

        /// A scale for the number of events in a batch.
        public static let events = Scale(
            bounds: [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000], divisor: 1)

        /// Returns the bucket of a value: the first whose bound is not less than the value.
        fileprivate func index(of value: Int64) -> Int {
            BinarySearch.first(in: 0..<bounds.count) { bounds[$0] >= value }
        }
    }
}
