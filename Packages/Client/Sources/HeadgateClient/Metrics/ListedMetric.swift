import HeadgateData

/// A metric of the daemon (Protocol, `metrics`).
public struct ListedMetric: Sendable, Equatable {
    /// The kind of a metric in Prometheus.
    public enum Kind: String, Sendable {
        /// A count that only grows, and begins at zero with the daemon.
        case counter
        /// A value that rises and falls.
        case gauge
        /// The number of values up to each bound, and their total.
        case histogram
    }

    /// One series of a metric: its labels and its value.
    public struct Sample: Sendable, Equatable {
        /// The labels in the daemon's order.
        public let labels: [Label]
        /// The value of the sample: a number, or a histogram.
        public let reading: Reading
    }

    /// The name and the value of a label.
    public struct Label: Sendable, Equatable {
        public let name: String
        public let value: String
    }

    /// The value of a series.
    public enum Reading: Sendable, Equatable {
        /// The value of a counter or a gauge.
        case value(DataNumber)
        /// The buckets of a histogram.
        case buckets([Bucket], sum: DataNumber, count: Int)
    }

    /// The number of values of a histogram that are not greater than a bound.
    public struct Bucket: Sendable, Equatable {
        /// The bound; nil for the bucket of all values.
        public let bound: DataNumber?
        public let count: Int
    }

    /// The name, with the `_total` of counters.
    public let name: String
    /// The kind in Prometheus.
    public let kind: Kind
    /// The description in one sentence.
    public let help: String
    /// The unit; nil for a plain count.
    public let unit: String?
    /// The series; empty if there are none.
    public let samples: [Sample]

    /// Reads an entry of `metrics`. Returns nil for an unknown kind. Malformed samples are left out.
    public init?(_ entry: DataObject) {
        guard let name = entry.get(key: "name", as: String.self),
            let kind = entry.get(key: "type", as: String.self).flatMap(Kind.init)
        else { return nil }
        self.name = name
        self.kind = kind
        help = entry.get(key: "help") ?? ""
        unit = entry.get(key: "unit")
        samples = (entry.get(key: "samples", as: [DataObject].self) ?? []).compactMap { Sample($0, of: kind) }
    }

    /// Reads the member `metrics` of a result. Returns nil if it is absent.
    public static func list(in result: DataObject) -> [ListedMetric]? {
        result.get(key: "metrics", as: [DataObject].self)?.compactMap(ListedMetric.init)
    }
}

extension ListedMetric.Sample {
    fileprivate init?(_ entry: DataObject, of kind: ListedMetric.Kind) {
        guard let reading = ListedMetric.Reading(entry, of: kind) else { return nil }
        self.reading = reading
        labels = (entry.get(key: "labels", as: DataObject.self) ?? [:]).compactMap { name, value in
            value.get(as: String.self).map { ListedMetric.Label(name: name, value: $0) }
        }
    }
}

extension ListedMetric.Reading {
    fileprivate init?(_ entry: DataObject, of kind: ListedMetric.Kind) {
        switch kind {
        case .counter, .gauge:
            guard case .number(let value)? = entry["value"] else { return nil }
            self = .value(value)
        case .histogram:
            guard case .array(let items)? = entry["buckets"], case .number(let sum)? = entry["sum"],
                let count = entry.get(key: "count", as: Int.self)
            else { return nil }
            self = .buckets(items.compactMap(ListedMetric.Bucket.init), sum: sum, count: count)
        }
    }
}

extension ListedMetric.Bucket {
    fileprivate init?(_ item: DataItem) {
        guard case .array(let pair) = item, pair.count == 2, let count = pair[1].get(as: Int.self) else { return nil }
        switch pair[0] {
        case .number(let bound): self.bound = bound
        case .null: bound = nil
        default: return nil
        }
        self.count = count
    }
}
