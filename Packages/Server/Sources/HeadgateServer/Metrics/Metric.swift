import HeadgateCore
import HeadgateData
import HeadgateWire

/// The declaration of one metric: its name, its meaning and the source of its samples (Behaviour O1). The answer of the
/// method `metrics` is made from it, and a test compares `Docs/Metrics.md` with it.
struct Metric: Sendable {
    /// The metric's type in Prometheus.
    enum Kind: String, CaseIterable, Sendable {
        /// A value that only grows, and starts at 0 with the daemon.
        case counter
        /// A value that rises and falls.
        case gauge
        /// Counts of observed values up to each of some bounds, and the sum of all values.
        case histogram
    }

    /// The unit of a metric's values, which is also a part of its name.
    enum Unit: String, CaseIterable, Sendable {
        /// A time in seconds.
        case seconds
        /// A size in bytes.
        case bytes
        /// A number of events.
        case events
    }

    /// The metric's name, which ends with `_total` for a counter.
    let name: String
    let kind: Kind
    /// The unit of the values, or nil for a plain count.
    let unit: Unit?
    /// The metric's meaning, in one sentence.
    let help: String
    /// The names of the labels that distinguish the samples.
    let labels: [StaticString]
    /// Writes the metric's samples.
    let write: @Sendable (MetricsReading, inout SampleWriter) -> Void

    init(
        _ kind: Kind, _ name: String, _ help: String, unit: Unit? = nil, labels: [StaticString] = [],
        write: @escaping @Sendable (MetricsReading, inout SampleWriter) -> Void
    ) {
        self.name = name
        self.kind = kind
        self.unit = unit
        self.help = help + "."
        self.labels = labels
        self.write = write
    }

    /// Returns a metric that has one sample.
    static func one(
        _ kind: Kind, _ name: String, _ help: String, unit: Unit? = nil,
        value: @escaping @Sendable (MetricsReading) -> MetricValue
    ) -> Metric {
        Metric(kind, name, help, unit: unit) { reading, writer in writer.sample(value(reading)) }
    }

    /// Returns a metric that has one sample for each dispatcher.
    static func each(
        _ kind: Kind, _ name: String, _ help: String, unit: Unit? = nil,
        value: @escaping @Sendable (DispatcherSummary) -> MetricValue
    ) -> Metric {
        Metric(kind, "headgate_dispatcher_" + name, help, unit: unit, labels: ["dispatcher"]) { reading, writer in
            for dispatcher in reading.dispatchers { writer.sample(["dispatcher": dispatcher.id], value(dispatcher)) }
        }
    }
}

/// The value of a sample.
enum MetricValue {
    /// A count or a size.
    case whole(Int)
    /// A time span, written in seconds.
    case seconds(Duration)
    /// A point in time, written in seconds since 1970.
    case time(Timestamp)

    /// Returns 1 for true, 0 for false.
    static func flag(_ isSo: Bool) -> MetricValue { .whole(isSo ? 1 : 0) }
}

/// One sample of a metric: the value of a counter or gauge, or a histogram.
struct MetricSample {
    let labels: KeyValuePairs<StaticString, String>
    var value: MetricValue?
    var histogram: Histogram?

    static let shape = OutputShape<MetricSample>.object([
        .required("labels", labels, \.labels), .optional("value", number, \.value, "of a counter or a gauge"),
        .optional(
            "buckets", buckets, \.histogram,
            "for a histogram: pairs of an upper bound and the cumulative count; the last bound is null (+Inf)"),
        .optional("sum", sum, \.histogram, "of a histogram"),
        .optional("count", .count, \.histogram?.count, "of a histogram"),
    ])

    private static let labels = OutputShape<KeyValuePairs<StaticString, String>>(.dictionary(.text)) { labels, json in
        json.beginObject()
        for (name, value) in labels { json.member(name, value) }
        json.endObject()
    }

    private static let number = OutputShape<MetricValue>(.number) { value, json in
        switch value {
        case .whole(let number): json.integer(number)
        case .seconds(let time): json.raw(verbatim: (Double(time.wholeNanoseconds) / 1e9).description)
        case .time(let moment): json.raw(verbatim: (Double(moment.milliseconds) / 1e3).description)
        }
    }

    private static let sum = OutputShape<Histogram>(.number) { $1.raw(verbatim: $0.scaledSum.description) }

    /// For each bucket its bound and the count of values up to the bound.
    private static let buckets = OutputShape<Histogram>(.array(.array(.nullable(.number)))) { histogram, json in
        json.beginArray()
        for (bound, count) in zip(histogram.scale.scaledBounds, histogram.cumulative) {
            json.element()
            json.raw("[")
            json.raw(verbatim: bound)
            json.raw(",")
            json.integer(count)
            json.raw("]")
        }
        json.element()
        json.raw("[null,")
        json.integer(histogram.count)
        json.raw("]")
        json.endArray()
    }
}

/// A writer that appends the samples of metrics to an answer, one after the other. One answer may have thousands of
/// samples.
struct SampleWriter {
    fileprivate(set) var json: JSONWriter

    /// Writes a sample without labels.
    mutating func sample(_ value: MetricValue) { sample([:], value) }

    /// Writes a sample that is one number.
    mutating func sample(_ labels: KeyValuePairs<StaticString, String>, _ value: MetricValue) {
        write(MetricSample(labels: labels, value: value))
    }

    /// Writes a sample that is a histogram.
    mutating func sample(_ labels: KeyValuePairs<StaticString, String>, _ histogram: Histogram) {
        write(MetricSample(labels: labels, histogram: histogram))
    }

    private mutating func write(_ sample: MetricSample) {
        json.element()
        MetricSample.shape.write(sample, &json)
    }
}

extension JSONWriter {
    /// Writes the samples of a metric as an array.
    mutating func samples(of metric: Metric, _ reading: MetricsReading) {
        beginArray()
        var samples = SampleWriter(json: self)
        // The writer's bytes move to the sample writer and back without a copy, because they may be a megabyte.
        bytes = []
        metric.write(reading, &samples)
        self = samples.json
        endArray()
    }
}
