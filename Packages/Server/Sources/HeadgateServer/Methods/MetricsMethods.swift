import HeadgateCore
import HeadgateData
import HeadgateWire

/// The method `metrics`.
struct MetricsMethods: MethodFamily {
    /// Reads all values now.
    let reading: () -> MetricsReading

    private static let metrics = FamilyMethod<Self>(
        "metrics", .observe, "All metrics, in the form that monitoring systems read.", changesNothing: true,
        result: .object([
            .required(
                "metrics",
                .array(
                    .object([
                        .required("name", .name), .required("type", .words(of: Metric.Kind.self)),
                        .required("help", .text),
                        .required("unit", .nullable(.words(of: Metric.Unit.self)), "what its values are in"),
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
            "of a histogram: bounds, and how many values were no greater; the last bound is null, for any value"),
        .optional("sum", .number, "of a histogram"), .optional("count", .count, "of a histogram"),
    ])

    static let methods = [metrics]
}
