import HeadgateData

/// A metric as the daemon tells it (Protocol, `metrics`).
public struct ListedMetric: Sendable, Equatable {
    /// What Prometheus takes it for.
    public enum Kind: String, Sendable {
        /// It only grows, and begins anew with the daemon.
        case counter
        /// It goes up and down.
        case gauge
        /// How often values came up to each of some bounds, and what they come to in all.
        case histogram
    }

    /// One series of a metric: what it is told apart by, and how it stands.
    public struct Sample: Sendable, Equatable {
        /// The labels' names and values, in the daemon's order.
        public let labels: [Label]
        /// How it stands.
        public let reading: Reading
    }

    /// A name and a value.
    public struct Label: Sendable, Equatable {
        public let name: String
        public let value: String
    }

    /// What a sample says.
    public enum Reading: Sendable, Equatable {
        /// Of a counter or a gauge.
        case value(DataNumber)
        /// Of a histogram.
        case buckets([Bucket], sum: DataNumber, count: Int)
    }

    /// How many values of a histogram were no greater than a bound.
    public struct Bucket: Sendable, Equatable {
        /// Nil: any value.
        public let bound: DataNumber?
        public let count: Int
    }

    /// What it is called, with the `_total` of counters.
    public let name: String
    /// What Prometheus takes it for.
    public let kind: Kind
    /// What it tells, in one sentence.
    public let help: String
    /// In what it is told; nil for what is merely counted.
    public let unit: String?
    /// Its series; none while there is nothing to tell of.
    public let samples: [Sample]

    /// Reads an entry of `metrics`; nil for one of a kind that is not known here. Samples that make no sense are left out.
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

    /// Reads the member `metrics` of a result; nil if there is none.
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
