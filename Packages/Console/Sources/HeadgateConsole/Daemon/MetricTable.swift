import HeadgateClient
import HeadgateData

/// The daemon's metrics, as the method `metrics` returns them (Behaviour O1).
struct MetricTable: Sendable {
    private let samples: [String: [Sample]]

    /// One value or one histogram of a metric.
    struct Sample: Sendable {
        let labels: [String: String]
        /// The value, or nil for a histogram.
        let value: Double?
        /// The histogram, or nil for a plain value.
        let histogram: Histogram?
    }

    /// Reads the result of `metrics`. Missing or unknown parts are left out.
    init(_ result: DataObject) {
        let metrics = ListedMetric.list(in: result) ?? []
        samples = Dictionary(metrics.map { ($0.name, $0.samples.map(Sample.init)) }) { $0 + $1 }
    }

    /// Returns the samples of a metric.
    func samples(_ name: String) -> [Sample] {
        samples[name] ?? []
    }

    /// Returns the value of a metric without labels.
    func value(_ name: String) -> Double? {
        samples(name).first?.value
    }

    /// Returns the sum of all histograms of a metric, or of those with a label.
    func histogram(_ name: String, _ label: (name: String, value: String)? = nil) -> Histogram? {
        let parts = samples(name).filter { label == nil || $0.labels[label?.name ?? ""] == label?.value }
        return parts.compactMap(\.histogram).reduce(nil) { sum, part in sum.map { $0.adding(part) } ?? part }
    }
}

extension MetricTable.Sample {
    fileprivate init(_ sample: ListedMetric.Sample) {
        labels = Dictionary(sample.labels.map { ($0.name, $0.value) }) { $1 }
        switch sample.reading {
        case .value(let value):
            self.value = value.double
            histogram = nil
        case .buckets(let buckets, _, _):
            value = nil
            histogram = Histogram(bounds: buckets.compactMap(\.bound?.double), counts: buckets.map { Double($0.count) })
        }
    }
}

/// A histogram: the number of values up to each of several bounds, since the daemon's start.
struct Histogram: Equatable, Sendable {
    /// The upper bounds, ascending. Larger values are counted after the last bound.
    let bounds: [Double]
    /// The number of values up to each bound, and at the end the number of all values.
    let counts: [Double]

    /// Makes a histogram. Returns nil unless there is one more count than bounds.
    init?(bounds: [Double], counts: [Double]) {
        guard counts.count == bounds.count + 1 else { return nil }
        self.bounds = bounds
        self.counts = counts
    }

    /// Returns the sum of both histograms. Returns this one if the other has different bounds.
    func adding(_ other: Histogram) -> Histogram {
        guard bounds == other.bounds else { return self }
        return Histogram(bounds: bounds, counts: zip(counts, other.counts).map { $0 + $1 }) ?? self
    }

    /// Returns the histogram of the values since an earlier reading, or nil if the daemon has restarted since then.
    func since(_ old: Histogram) -> Histogram? {
        guard bounds == old.bounds else { return nil }
        let news = zip(counts, old.counts).map { $0 - $1 }
        return news.contains { $0 < 0 } ? nil : Histogram(bounds: bounds, counts: news)
    }

    /// The number of values.
    var count: Double { counts.last ?? 0 }

    /// Returns a quantile, for example the median for a share of 0.5, by linear interpolation between two bounds.
    /// Values above the last bound count as that bound. Returns nil if there are no values.
    func quantile(_ share: Double) -> Double? {
        guard count > 0, let largest = bounds.last else { return nil }
        let rank = share * count
        guard let index = counts.firstIndex(where: { $0 >= rank }), index < bounds.count else { return largest }
        let below = index > 0 ? (bounds[index - 1], counts[index - 1]) : (0, 0)
        let inside = counts[index] - below.1
        return inside > 0 ? below.0 + (bounds[index] - below.0) * (rank - below.1) / inside : bounds[index]
    }
}
