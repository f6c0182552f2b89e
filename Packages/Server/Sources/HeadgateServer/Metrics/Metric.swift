import HeadgateCore
import HeadgateData

/// One of the daemon's metrics: what it is called, what it means, and where its samples come from (Behaviour O1). What the
/// method `metrics` answers and what `Docs/Metrics.md` tells follow from this one declaration.
struct Metric: Sendable {
    /// What Prometheus takes it for.
    enum Kind: String, CaseIterable, Sendable {
        /// It only grows, and begins anew with the daemon.
        case counter
        /// It goes up and down.
        case gauge
        /// How often values came up to each of some bounds, and what they come to in all.
        case histogram
    }

    /// In what it is told. Its name says it, too.
    enum Unit: String, CaseIterable, Sendable {
        /// The time of one second.
        case seconds
        /// Eight bits.
        case bytes
        /// Events.
        case events
    }

    /// What it is called, with the `_total` of counters.
    let name: String
    let kind: Kind
    /// Nil for what is merely counted.
    let unit: Unit?
    /// What it tells, in one sentence.
    let help: String
    /// What its samples are told apart by.
    let labels: [StaticString]
    /// Tells its samples.
    let tell: @Sendable (MetricsReading, inout SampleWriter) -> Void

    init(
        _ kind: Kind, _ name: String, _ help: String, unit: Unit? = nil, labels: [StaticString] = [],
        tell: @escaping @Sendable (MetricsReading, inout SampleWriter) -> Void
    ) {
        self.name = name
        self.kind = kind
        self.unit = unit
        self.help = help + "."
        self.labels = labels
        self.tell = tell
    }

    /// A metric that is one number.
    static func one(
        _ kind: Kind, _ name: String, _ help: String, unit: Unit? = nil,
        value: @escaping @Sendable (MetricsReading) -> MetricValue
    ) -> Metric {
        Metric(kind, name, help, unit: unit) { reading, writer in writer.sample(value(reading)) }
    }

    /// A metric that is one number for each dispatcher.
    static func each(
        _ kind: Kind, _ name: String, _ help: String, unit: Unit? = nil,
        value: @escaping @Sendable (DispatcherSummary) -> MetricValue
    ) -> Metric {
        Metric(kind, "headgate_dispatcher_" + name, help, unit: unit, labels: ["dispatcher"]) { reading, writer in
            for dispatcher in reading.dispatchers { writer.sample(["dispatcher": dispatcher.id], value(dispatcher)) }
        }
    }
}

/// What a sample says.
enum MetricValue {
    /// A count, or a size.
    case whole(Int)
    /// Seconds.
    case seconds(Duration)
    /// Seconds since 1970.
    case time(Timestamp)

    /// 1 for yes, 0 for no.
    static func flag(_ isSo: Bool) -> MetricValue { .whole(isSo ? 1 : 0) }
}

/// Writes the samples of metrics into an answer, one behind the other. A scrape may have thousands of them.
struct SampleWriter {
    fileprivate(set) var json: JSONWriter

    /// A metric that has no labels, or whose labels say nothing.
    mutating func sample(_ value: MetricValue) { sample([:], value) }

    /// A number.
    mutating func sample(_ labels: KeyValuePairs<StaticString, String>, _ value: MetricValue) {
        begin(labels)
        json.member("value")
        write(value)
        json.endObject()
    }

    /// A histogram: its buckets' bounds, how many values were no greater, and the sum and number of all.
    mutating func sample(_ labels: KeyValuePairs<StaticString, String>, _ histogram: Histogram) {
        begin(labels)
        json.member("buckets")
        json.beginArray()
        for (bound, count) in zip(histogram.scale.boundsAsTold, histogram.cumulative) {
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
        json.member("sum")
        json.raw(verbatim: histogram.sumAsTold.description)
        json.member("count", histogram.count)
        json.endObject()
    }

    private mutating func begin(_ labels: KeyValuePairs<StaticString, String>) {
        json.element()
        json.beginObject()
        json.member("labels")
        json.beginObject()
        for (name, value) in labels { json.member(name, value) }
        json.endObject()
    }

    private mutating func write(_ value: MetricValue) {
        switch value {
        case .whole(let number): json.integer(number)
        case .seconds(let time): json.raw(verbatim: (Double(time.wholeNanoseconds) / 1e9).description)
        case .time(let moment): json.raw(verbatim: (Double(moment.milliseconds) / 1e3).description)
        }
    }
}

extension JSONWriter {
    /// The member `metrics`: every metric with its samples.
    mutating func metrics(_ metrics: [Metric], _ reading: MetricsReading) {
        member("metrics")
        beginArray()
        for metric in metrics {
            element()
            self.metric(metric, reading)
        }
        endArray()
    }

    private mutating func metric(_ metric: Metric, _ reading: MetricsReading) {
        beginObject()
        member("name", metric.name)
        member("type", metric.kind.rawValue)
        member("help", metric.help)
        member("unit", item: metric.unit.map { .string($0.rawValue) } ?? .null)
        member("samples")
        beginArray()
        var samples = SampleWriter(json: self)
        // The bytes are handed over and back, and never copied: there may be a megabyte of them.
        bytes = []
        metric.tell(reading, &samples)
        self = samples.json
        endArray()
        endObject()
    }
}
