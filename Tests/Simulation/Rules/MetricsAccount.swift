import HeadgateData
import HeadgateWire

@testable import HeadgateCore
@testable import HeadgateServer

/// The daemon's metrics at one moment, compared with the daemon's status and with the models of the simulation
/// (Behaviour O1). The models get counters read from the metrics alone.
struct MetricsAccount {
    /// The samples of each metric, by label values.
    private let samples: [String: [[String]: DataItem]]

    init(_ service: Service) {
        var writer = JSONWriter()
        MetricsMethods.all.write(MetricsReading(service), &writer)
        let answer = (try? DataItem(parsing: writer.bytes)).flatMap { DataObject(dataItem: $0) } ?? [:]
        let metrics = answer.get(key: "metrics", as: [DataObject].self) ?? []
        samples = metrics.reduce(into: [:]) { all, metric in
            let samples = metric.get(key: "samples", as: [DataObject].self) ?? []
            all[metric.get(key: "name") ?? ""] = samples.reduce(into: [:]) { series, sample in
                let labels = sample.get(key: "labels", as: DataObject.self) ?? [:]
                series[labels.compactMap { $0.value.get(as: String.self) }] = .object(sample)
            }
        }
    }

    /// The counters of the whole service.
    var events: Counters<EventCounter> { counters("headgate_", []) }

    /// Returns the counters of one dispatcher.
    func dispatcher(_ id: String) -> Counters<DispatcherCounter> { counters("headgate_dispatcher_", [id]) }

    private func counters<List: CounterList>(_ prefix: String, _ labels: [String]) -> Counters<List> {
        var counters = Counters<List>()
        for counter in List.allCases {
            counters.count(counter, whole("\(prefix)\(counter.name)_total", labels) ?? 0)
        }
        return counters
    }

    private func member(_ name: String, of metric: String, _ labels: [String]) -> DataItem? {
        samples[metric]?[labels]?.get(as: DataObject.self)?[name]
    }

    private func whole(_ metric: String, _ labels: [String] = [], _ member: String = "value") -> Int? {
        self.member(member, of: metric, labels)?.get(as: Int.self)
    }

    // MARK: Rules

    /// Checks that the metrics agree with each other and with the state of the service.
    func check(_ service: Service, _ record: Record) {
        let gate = service.gate
        record.expect(events == gate.counts.all, "the counters in metrics and status differ")
        record.expect(whole("headgate_store_events") == gate.stored.events, "the metrics report a wrong store size")
        for summary in gate.dispatcherSummaries {
            check(summary, inFlight: gate.dispatchers[summary.id]?.batchesInFlight ?? 0, record)
        }
        for (name, series) in samples {
            for (labels, sample) in series { checkBuckets(of: name, labels, sample, record) }
        }
    }

    /// Compares the metrics of a dispatcher with its status.
    /// - Parameter inFlight: The number of batches in flight, one of which may have no unsettled events left.
    private func check(_ summary: DispatcherSummary, inFlight: Int, _ record: Record) {
        let id = summary.id
        func reported(_ name: String) -> Int? { whole("headgate_dispatcher_" + name, [id]) }
        record.expect(dispatcher(id) == summary.counters, "\(id): the counters in the metrics are wrong")
        record.expect(reported("pending") == summary.pending, "\(id): pending is wrong in the metrics")
        record.expect(reported("in_flight") == summary.inFlight, "\(id): in_flight is wrong in the metrics")
        let timed = whole("headgate_delivery_seconds", [id], "count")
        record.expect(timed == summary.counters[.sent], "\(id): \(timed ?? -1) deliveries are timed")
        let attempts = AttemptOutcome.allCases.reduce(0) {
            $0 + (whole("headgate_attempt_seconds", [id, $1.name], "count") ?? 0)
        }
        let batches = whole("headgate_batch_events", [id], "count") ?? 0
        record.expect(
            attempts + inFlight == batches,
            "\(id): \(attempts) attempts of \(batches) batches, \(inFlight) in flight")
        let closed = (samples["headgate_barrier_closed"] ?? [:]).filter { $0.key.last == id && $0.value.isClosed }
        let isOpen = reported("open") == 1
        record.expect(isOpen || !closed.isEmpty, "\(id) is blocked, but no barrier is closed")
        record.expect(isOpen == summary.isOpen, "\(id): the state in the metrics is wrong")
    }

    private func checkBuckets(of name: String, _ labels: [String], _ sample: DataItem, _ record: Record) {
        guard let sample = sample.get(as: DataObject.self), case .array(let buckets)? = sample["buckets"] else {
            return
        }
        let counts = buckets.compactMap { bucket -> Int? in
            guard case .array(let pair) = bucket else { return nil }
            return pair.last?.get(as: Int.self)
        }
        let isSound = counts == counts.sorted() && counts.last == sample.get(key: "count")
        record.expect(isSound, "\(name) \(labels) has buckets \(counts)")
    }
}

extension DataItem {
    fileprivate var isClosed: Bool { self.get(as: DataObject.self)?["value"] == 1 }
}
