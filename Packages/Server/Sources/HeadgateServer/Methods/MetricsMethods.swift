import HeadgateCore
import HeadgateData
import HeadgateWire

/// The method `metrics`.
struct MetricsMethods: MethodFamily {
    /// Reads all values now.
    let reading: () -> MetricsReading

    private static let metrics = FamilyMethod<Self>(
        "metrics", .observe, "Returns all metrics, for monitoring systems.", changesNothing: true,
        result: all.schema
    ) { parts, call in call.reply.answer(all, parts.reading()) }

    /// The result of `metrics`.
    static let all = OutputShape<MetricsReading>.object([
        .required("metrics", .array(metric), { reading in MetricTable.all.map { ($0, reading) } })
    ])

    private static let metric = OutputShape<(metric: Metric, reading: MetricsReading)>.object([
        .required("name", .name, \.metric.name), .required("type", .word, \.metric.kind),
        .required("help", .text, \.metric.help),
        .required("unit", .nullable(.word), \.metric.unit, "the unit of the values"),
        .required("samples", samples, \.self),
    ])

    private static let samples = OutputShape<(metric: Metric, reading: MetricsReading)>(
        .array(MetricSample.shape.schema)
    ) { $1.samples(of: $0.metric, $0.reading) }

    static let methods = [metrics]
}
