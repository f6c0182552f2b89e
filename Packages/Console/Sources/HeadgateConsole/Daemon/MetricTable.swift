import HeadgateClient
import HeadgateData

/// What the daemon measures, as the method `metrics` tells it (Behaviour O1).
struct MetricTable: Sendable {
    private let samples: [String: [Sample]]

    /// One value, or one histogram, of a metric.
    struct Sample: Sendable {
        let labels: [String: String]
        /// Nil for a histogram.
        let value: Double?
        /// Nil for all but a histogram.
        let histogram: Histogram?
    }

    /// Reads the result of `metrics`. What is missing or not known is left out.
    init(_ result: DataObject) {
        let metrics = ListedMetric.list(in: result) ?? []
        samples = Dictionary(metrics.map { ($0.name, $0.samples.map(Sample.init)) }) { $0 + $1 }
    }

    /// The samples of a metric.
    func samples(_ name: String) -> [Sample] {
        samples[name] ?? []
    }

    /// The value of a metric that has no labels.
    func value(_ name: String) -> Double? {
        samples(name).first?.value
    }

    /// All histograms of a metric as one, or those with a label.
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

/// How many of something were how large, since the daemon started.
struct Histogram: Equatable, Sendable {
    /// The upper bounds, ascending; what is larger than the last is counted behind it.
    let bounds: [Double]
    /// How many are at most as large as each bound, and at the end how many there are.
    let counts: [Double]

    /// A histogram; nil where there is not one more count than bounds.
    init?(bounds: [Double], counts: [Double]) {
        guard counts.count == bounds.count + 1 else { return nil }
        self.bounds = bounds
        self.counts = counts
    }

    /// Both together; those of other bounds cannot be added.
    func adding(_ other: Histogram) -> Histogram {
        guard bounds == other.bounds else { return self }
        return Histogram(bounds: bounds, counts: zip(counts, other.counts).map { $0 + $1 }) ?? self
    }

    /// What came since an older state of the same; nil where that is of another daemon.
    func since(_ old: Histogram) -> Histogram? {
        guard bounds == old.bounds else { return nil }
        let news = zip(counts, old.counts).map { $0 - $1 }
        return news.contains { $0 < 0 } ? nil : Histogram(bounds: bounds, counts: news)
    }

    /// How many there are.
    var count: Double { counts.last ?? 0 }

    /// The size that a share of them does not exceed, straight between two bounds; nil where there are none. What is
    /// larger than the last bound is taken for as large as that.
    func quantile(_ share: Double) -> Double? {
        guard count > 0, let largest = bounds.last else { return nil }
        let rank = share * count
        guard let place = counts.firstIndex(where: { $0 >= rank }), place < bounds.count else { return largest }
        let below = place > 0 ? (bounds[place - 1], counts[place - 1]) : (0, 0)
        let inside = counts[place] - below.1
        return inside > 0 ? below.0 + (bounds[place] - below.0) * (rank - below.1) / inside : bounds[place]
    }
}
