import HeadgateCore
import HeadgateData

/// All metrics of the daemon, in the order of the answer (Behaviour O1).
///
/// To add a metric, add it here. A test then says which row `Docs/Metrics.md` needs. A new case of ``EventCounter``,
/// ``DispatcherCounter`` or ``ConnectionCounter`` becomes a metric without a change here.
enum MetricTable {
    static let all = daemon + counters + calls + dispatchers + barriers + store + times + process

    private static let daemon: [Metric] = [
        Metric(.gauge, "headgate_build_info", "Always 1; its label tells the version", labels: ["version"]) {
            $1.sample(["version": Version.current], .whole(1))
        },
        .one(.gauge, "headgate_ready", "1 while clients are let in") { .flag($0.isReady) },
        .one(.gauge, "headgate_clients", "Open connections of clients") { .whole($0.clients) },
        .one(.gauge, "headgate_network_connected", "1 while the machine has a network connection") {
            .flag($0.isConnected)
        },
        .one(.gauge, "headgate_warnings", "Warnings that the command status shows") { .whole($0.warnings) },
        Metric(
            .gauge, "headgate_settings_last_load_successful",
            "1 if the last load of the layer succeeded and nothing of it is left out", labels: ["layer"]
        ) { reading, writer in
            for (layer, isWhole) in reading.layers { writer.sample(["layer": layer.rawValue], .flag(isWhole)) }
        },
        .one(.gauge, "headgate_settings_waiting", "Changed settings that take effect at the next start") {
            .whole($0.settingsWaiting)
        },
        .one(
            .gauge, "headgate_metrics_timestamp_seconds",
            "The time at which the daemon told these metrics, in seconds since 1970", unit: .seconds
        ) { .time($0.wall) },
        Metric(
            .gauge, "headgate_disk_free_bytes", "Bytes that are free on the disk of the data directory", unit: .bytes
        ) { reading, writer in
            if let disk = reading.disk { writer.sample(.whole(disk.freeBytes)) }
        },
        Metric(.gauge, "headgate_disk_bytes", "The size of the disk of the data directory", unit: .bytes) {
            reading, writer in
            if let disk = reading.disk { writer.sample(.whole(disk.totalBytes)) }
        },
        .one(.counter, "headgate_log_lines_dropped_total", "Lines of the log that standard error did not take") {
            .whole($0.droppedLogLines)
        },
    ]

    /// The counters of the daemon, which `status` shows too.
    private static let counters: [Metric] =
        EventCounter.allCases.map { counter in
            .one(.counter, "headgate_\(counter.name)_total", counter.meaning) { .whole($0.events[counter]) }
        }
        + ConnectionCounter.allCases.map { counter in
            .one(.counter, "headgate_\(counter.name)_total", counter.meaning) { .whole($0.connections[counter]) }
        }

    /// The calls of methods that change the service, and of methods that the caller has no right to (Behaviour X7).
    private static let calls: [Metric] = [
        Metric(
            .counter, "headgate_operations_total", "Calls that changed the service, by method", labels: ["method"]
        ) { reading, writer in
            for (method, count) in reading.operations.done.sorted(by: { $0.key < $1.key }) {
                writer.sample(["method": method], .whole(count))
            }
        },
        Metric(
            .counter, "headgate_refused_calls_total",
            "Calls that were refused because the user lacks the right, by method",
            labels: ["method"]
        ) { reading, writer in
            for (method, count) in reading.operations.refused.sorted(by: { $0.key < $1.key }) {
                writer.sample(["method": method], .whole(count))
            }
        },
    ]

    private static let dispatchers: [Metric] =
        [
            .each(.gauge, "pending", "Events that wait for the dispatcher, those in flight not counted") {
                .whole($0.pending)
            },
            .each(.gauge, "in_flight", "Events in flight to the destination") { .whole($0.inFlight) },
            .each(.gauge, "in_flight_bytes", "What their batches take, as they are sent", unit: .bytes) {
                .whole($0.inFlightBytes)
            },
            .each(
                .gauge, "oldest_seconds", "The age of the oldest event that is not settled, 0 when there is none",
                unit: .seconds
            ) { .seconds($0.oldest ?? .zero) },
            .each(.gauge, "open", "1 while the way to the dispatcher is open, 0 while barriers hold it") {
                .flag($0.isOpen)
            },
            .each(.gauge, "flushing", "1 while a flush of the dispatcher is under way") { .flag($0.isFlushing) },
        ]
        + DispatcherCounter.allCases.map { counter in
            .each(.counter, "\(counter.name)_total", counter.meaning.capitalized) { .whole($0.counters[counter]) }
        }

    private static let way: [StaticString] = ["barrier", "dispatcher"]

    private static let barriers: [Metric] = [
        Metric(
            .gauge, "headgate_barrier_closed", "1 while the barrier is closed for the dispatcher, flushable or not",
            labels: way
        ) { reading, writer in
            for way in reading.ways { writer.sample(way.labels, .flag(way.time.isClosed)) }
        },
        Metric(
            .counter, "headgate_barrier_closed_seconds_total",
            "The total time for which the barrier has been closed for the dispatcher", unit: .seconds, labels: way
        ) { reading, writer in
            for way in reading.ways { writer.sample(way.labels, .seconds(way.time.total(at: reading.now))) }
        },
    ]

    private static let store: [Metric] = [
        Metric(
            .gauge, "headgate_store_info", "Always 1; its labels tell how events are kept",
            labels: ["kind", "durability"]
        ) {
            $1.sample(["kind": $0.store.kind, "durability": $0.store.durability], .whole(1))
        },
        .one(.gauge, "headgate_store_events", "Events that some dispatcher has not settled", unit: .events) {
            .whole($0.store.live.events)
        },
        .one(.gauge, "headgate_store_bytes", "What these take as stored JSON", unit: .bytes) {
            .whole($0.store.live.bytes)
        },
        .one(.gauge, "headgate_store_max_events", "How many events there may be", unit: .events) {
            .whole($0.store.limits.maxEvents)
        },
        .one(.gauge, "headgate_store_max_bytes", "What they may take", unit: .bytes) {
            .whole($0.store.limits.maxBytes)
        },
        .one(.gauge, "headgate_store_disk_bytes", "What the store's files take on the disk", unit: .bytes) {
            .whole($0.store.diskBytes)
        },
        .one(
            .gauge, "headgate_store_oldest_seconds",
            "The age of the oldest event that some dispatcher has not settled, 0 when there is none", unit: .seconds
        ) { .seconds($0.store.oldest ?? .zero) },
        .one(
            .gauge, "headgate_store_retained_events", "Events that every dispatcher has settled and that are kept",
            unit: .events
        ) { .whole($0.store.retained.events) },
        .one(.gauge, "headgate_store_retained_bytes", "What these take as stored JSON", unit: .bytes) {
            .whole($0.store.retained.bytes)
        },
        .one(
            .gauge, "headgate_store_retained_oldest_seconds",
            "The age of the oldest of these events, 0 when there are none", unit: .seconds
        ) { .seconds($0.store.oldestRetained ?? .zero) },
        .one(.gauge, "headgate_store_dead_letters", "Dead letters that are kept") { .whole($0.store.letters.events) },
        .one(.gauge, "headgate_store_dead_letter_bytes", "What their events take as stored JSON", unit: .bytes) {
            .whole($0.store.letters.bytes)
        },
        .one(.gauge, "headgate_store_max_dead_letters", "How many dead letters there may be") {
            .whole($0.store.limits.deadLetters.count)
        },
        .one(.gauge, "headgate_store_max_dead_letter_bytes", "What their events may take", unit: .bytes) {
            .whole($0.store.limits.deadLetters.bytes)
        },
        Metric(
            .gauge, "headgate_orphan_events", "Events kept for a dispatcher that is configured no more", unit: .events,
            labels: ["dispatcher"]
        ) { reading, writer in
            for orphan in reading.orphans { writer.sample(["dispatcher": orphan.id], .whole(orphan.events)) }
        },
        Metric(
            .gauge, "headgate_orphan_until_timestamp_seconds",
            "When the queue of a dispatcher that is configured no more is dropped, in seconds since 1970",
            unit: .seconds,
            labels: ["dispatcher"]
        ) { reading, writer in
            for orphan in reading.orphans {
                writer.sample(["dispatcher": orphan.id], .time(orphan.until))
            }
        },
        .one(.gauge, "headgate_store_dedupe_ids", "Ids of clients that are remembered to find repeats by") {
            .whole($0.store.rememberedIDs)
        },
    ]

    private static let times: [Metric] = [
        Metric(
            .histogram, "headgate_acknowledge_seconds",
            "From the reading of an event to its acknowledgement, of those that were stored", unit: .seconds
        ) { $1.sample([:], $0.acknowledging) },
        Metric(
            .histogram, "headgate_sync_seconds",
            "How long each sync of the store's files took; with sqlite, each synced transaction", unit: .seconds
        ) { $1.sample([:], $0.syncing) },
        Metric(
            .histogram, "headgate_delivery_seconds",
            "From an event's receipt to its delivery, in whole milliseconds and at least one", unit: .seconds,
            labels: ["dispatcher"]
        ) { reading, writer in
            for (id, measures) in reading.measures { writer.sample(["dispatcher": id], measures.delivery) }
        },
        Metric(
            .histogram, "headgate_attempt_seconds",
            "How long attempts to send a batch took, by what came of them: delivered, retry, dead or interrupted",
            unit: .seconds, labels: ["dispatcher", "outcome"]
        ) { reading, writer in
            for (id, measures) in reading.measures {
                for outcome in AttemptOutcome.allCases {
                    writer.sample(["dispatcher": id, "outcome": outcome.name], measures.attempts(outcome))
                }
            }
        },
        Metric(
            .histogram, "headgate_batch_events", "How many events each batch had that was sent", unit: .events,
            labels: ["dispatcher"]
        ) { reading, writer in
            for (id, measures) in reading.measures { writer.sample(["dispatcher": id], measures.batches) }
        },
    ]

    /// The usage of the process, under the names that Prometheus' own client libraries use.
    private static let process: [Metric] = [
        .one(
            .counter, "process_cpu_seconds_total", "Time that the daemon has spent on processors", unit: .seconds
        ) { .seconds($0.process.processor) },
        .one(.gauge, "process_resident_memory_bytes", "Memory that the daemon has", unit: .bytes) {
            .whole($0.process.residentBytes)
        },
        .one(.gauge, "process_virtual_memory_bytes", "Addresses that the daemon has", unit: .bytes) {
            .whole($0.process.virtualBytes)
        },
        .one(.gauge, "process_start_time_seconds", "When the daemon started, in seconds since 1970", unit: .seconds) {
            .time($0.started)
        },
    ]
}

extension BlockedPair {
    fileprivate var labels: KeyValuePairs<StaticString, String> { ["barrier": barrier, "dispatcher": dispatcher] }
}

extension String {
    /// The text with its first letter in upper case.
    fileprivate var capitalized: String { prefix(1).uppercased() + dropFirst() }
}
