import HeadgateCore
import HeadgateData
import HeadgateWire

/// The method `metrics`.
struct MetricsMethods: MethodFamily {
    /// Reads all values now.
    let reading: () -> MetricsReading

    private static let metrics = FamilyMethod<Self>(
        "metrics", .observe, "Returns all metrics, for monitoring systems.", changesNothing: true,
        result: .object([
            .required(
                "metrics",
                .array(
                    .object([
                        .required("name", .name), .required("type", .words(of: Metric.Kind.self)),
                        .required("help", .text),
                        .required("unit", .nullable(.words(of: Metric.Unit.self)), "the unit of the values"),
                        .required("samples", .array(sample)),
                    ])))
        ])
    ) { parts, call in
        let reading = parts.reading()
        call.reply.answer { writer in
            writer.beginObject()
            writer.metrics(MetricTable.all, reading)
            writer.endObject()
        }
    }

    private static let sample = Schema.object([
        .required("labels", .dictionary(.text)), .optional("value", .number, "of a counter or a gauge"),
        .optional(
            "buckets", .array(.array(.nullable(.number))),
            "for a histogram: pairs of an upper bound and the cumulative count; the last bound is null (+Inf)"),
        .optional("sum", .number, "of a histogram"), .optional("count", .count, "of a histogram"),
    ])

    static let methods = [metrics]
}
