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
        .required("samples", OutputShape(.array(sample)) { $1.samples(of: $0.metric, $0.reading) }, \.self),
    ])

    private static let sample = Schema.object([
        .required("labels", .dictionary(.text)), .optional("value", .number, "of a counter or a gauge"),
        .optional(
            "buckets", .array(.array(.nullable(.number))),
            "for a histogram: pairs of an upper bound and the cumulative count; the last bound is null (+Inf)"),
        .optional("sum", .number, "of a histogram"), .optional("count", .count, "of a histogram"),
    ])

    static let methods = [metrics]
}
