import HeadgateCore
import HeadgateData

/// All metrics of the daemon, in the order of the answer (Behaviour O1).
///
/// To add a metric, add it here. A test then says which row `Docs/Metrics.md` needs. A new case of ``EventCounter``,
/// ``DispatcherCounter`` or ``ConnectionCounter`` becomes a metric without a change here.
enum MetricTable {
    static let all = daemon + counters + calls + users + dispatchers + barriers + store + times + process

    private static let daemon: [Metric] = [
        Metric(.gauge, "headgate_build_info", "Always 1, with the version as a label", labels: ["version"]) {
            $1.sample(["version": Version.current], .whole(1))
        },
        .one(.gauge, "headgate_ready", "1 if the daemon accepts clients") { .flag($0.isReady) },
        .one(.gauge, "headgate_clients", "Open connections of clients") { .whole($0.clients) },
        .one(.gauge, "headgate_network_connected", "1 while the machine has a network connection") {
            .flag($0.isConnected)
        },
        .one(.gauge, "headgate_warnings", "Warnings, as `headgate status` shows them") { .whole($0.warnings) },
        Metric(
            .gauge, "headgate_settings_last_load_successful",
            "1 if the last load of the settings layer succeeded and all of it is in force", labels: ["layer"]
        ) { reading, writer in
            for (layer, isWhole) in reading.layers { writer.sample(["layer": layer.rawValue], .flag(isWhole)) }
        },
        .one(.gauge, "headgate_settings_waiting", "Changed settings that take effect only at the next start") {
            .whole($0.settingsWaiting)
        },
        .one(
            .gauge, "headgate_metrics_timestamp_seconds",
            "Unix time at which these metrics were collected", unit: .seconds
        ) { .time($0.wall) },
        Metric(
            .gauge, "headgate_disk_free_bytes", "Free bytes on the disk of the data directory", unit: .bytes
        ) { reading, writer in
            if let disk = reading.disk { writer.sample(.whole(disk.freeBytes)) }
        },
        Metric(.gauge, "headgate_disk_bytes", "Size of the disk of the data directory", unit: .bytes) {
            reading, writer in
            if let disk = reading.disk { writer.sample(.whole(disk.totalBytes)) }
        },
        .one(
            .counter, "headgate_log_lines_dropped_total",
            "Log lines dropped because standard error was not read or not writable"
        ) {
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
            .counter, "headgate_operations_total", "Calls that changed the daemon's state, by method",
            labels: ["method"]
        ) { reading, writer in
            for (method, count) in reading.operations.done.sorted(by: { $0.key < $1.key }) {
                writer.sample(["method": method], .whole(count))
            }
        },
        Metric(
            .counter, "headgate_refused_calls_total",
            "Calls refused because the user lacks the right, by method",
            labels: ["method"]
        ) { reading, writer in
            for (method, count) in reading.operations.refused.sorted(by: { $0.key < $1.key }) {
                writer.sample(["method": method], .whole(count))
            }
        },
    ]

    /// The use of the store by each user (Behaviour Q4). There are series for at most 256 users; the others share one.
    private static let users: [Metric] = [
        Metric(
            .counter, "headgate_user_stored_events_total", "Events accepted from the user", unit: .events,
            labels: ["uid"]
        ) { reading, writer in
            for user in reading.users { writer.sample(user.labels, .whole(user.total.events)) }
        },
        Metric(
            .counter, "headgate_user_stored_bytes_total", "Bytes of the events accepted from the user, as JSON",
            unit: .bytes, labels: ["uid"]
        ) { reading, writer in
            for user in reading.users { writer.sample(user.labels, .whole(user.total.bytes)) }
        },
        Metric(
            .gauge, "headgate_user_pending_events", "Pending events of the user since the daemon's start, an estimate",
            unit: .events, labels: ["uid"]
        ) { reading, writer in
            for user in reading.users { writer.sample(user.labels, .whole(user.pending.events)) }
        },
    ]

    private static let dispatchers: [Metric] =
        [
            .each(.gauge, "pending", "Pending events of the dispatcher, without the events in flight") {
                .whole($0.pending)
            },
            .each(.gauge, "in_flight", "Events in flight to the destination") { .whole($0.inFlight) },
            .each(.gauge, "in_flight_bytes", "Bytes of the batches in flight, as they are sent", unit: .bytes) {
                .whole($0.inFlightBytes)
            },
            .each(
                .gauge, "oldest_seconds",
                "Age of the dispatcher's oldest event that is neither delivered nor dropped, 0 without such an event",
                unit: .seconds
            ) { .seconds($0.oldest ?? .zero) },
            .each(.gauge, "open", "1 if the dispatcher is open, 0 if barriers block it") {
                .flag($0.isOpen)
            },
            .each(.gauge, "flushing", "1 during a flush of the dispatcher") { .flag($0.isFlushing) },
        ]
        + DispatcherCounter.allCases.map { counter in
            .each(.counter, "\(counter.name)_total", counter.meaning.capitalized) { .whole($0.counters[counter]) }
        }

    private static let pair: [StaticString] = ["barrier", "dispatcher"]

    private static let barriers: [Metric] = [
        Metric(
            .gauge, "headgate_barrier_closed", "1 while the barrier is closed for the dispatcher, flushable or not",
            labels: pair
        ) { reading, writer in
            for pair in reading.blockedPairs { writer.sample(pair.labels, .flag(pair.time.isClosed)) }
        },
        Metric(
            .counter, "headgate_barrier_closed_seconds_total",
            "Total time for which the barrier was closed for the dispatcher", unit: .seconds, labels: pair
        ) { reading, writer in
            for pair in reading.blockedPairs { writer.sample(pair.labels, .seconds(pair.time.total(at: reading.now))) }
        },
    ]

    private static let store: [Metric] = [
        Metric(
            .gauge, "headgate_store_info", "Always 1, with the store's kind and durability as labels",
            labels: ["kind", "durability"]
        ) {
            $1.sample(["kind": $0.store.kind, "durability": $0.store.durability], .whole(1))
        },
        .one(.gauge, "headgate_store_events", "Stored events", unit: .events) {
            .whole($0.store.live.events)
        },
        .one(.gauge, "headgate_store_bytes", "Bytes of the stored events, as JSON", unit: .bytes) {
            .whole($0.store.live.bytes)
        },
        .one(.gauge, "headgate_store_max_events", "Limit of stored events", unit: .events) {
            .whole($0.store.limits.maxEvents)
        },
        .one(.gauge, "headgate_store_max_bytes", "Limit of the stored events' bytes", unit: .bytes) {
            .whole($0.store.limits.maxBytes)
        },
        .one(.gauge, "headgate_store_disk_bytes", "Size of the store's files on the disk", unit: .bytes) {
            .whole($0.store.diskBytes)
        },
        .one(
            .gauge, "headgate_store_oldest_seconds",
            "Age of the oldest stored event, 0 if the store is empty", unit: .seconds
        ) { .seconds($0.store.oldest ?? .zero) },
        .one(
            .gauge, "headgate_store_retained_events",
            "Retained events: delivered to or dropped for every dispatcher, and kept for a rewind",
            unit: .events
        ) { .whole($0.store.retained.events) },
        .one(.gauge, "headgate_store_retained_bytes", "Bytes of the retained events, as JSON", unit: .bytes) {
            .whole($0.store.retained.bytes)
        },
        .one(
            .gauge, "headgate_store_retained_oldest_seconds",
            "Age of the oldest retained event, 0 without such an event", unit: .seconds
        ) { .seconds($0.store.oldestRetained ?? .zero) },
        .one(
            .gauge, "headgate_erasure_active", "1 during an erasure, until no file of the store has the events' bytes"
        ) { .flag($0.store.isErasing) },
        .one(.gauge, "headgate_store_dead_letters", "Dead letters") { .whole($0.store.deadLetterTally.events) },
        .one(.gauge, "headgate_store_dead_letter_bytes", "Bytes of the dead letters' events, as JSON", unit: .bytes) {
            .whole($0.store.deadLetterTally.bytes)
        },
        .one(.gauge, "headgate_store_max_dead_letters", "Limit of dead letters") {
            .whole($0.store.limits.deadLetters.count)
        },
        .one(.gauge, "headgate_store_max_dead_letter_bytes", "Limit of the dead letters' bytes", unit: .bytes) {
            .whole($0.store.limits.deadLetters.bytes)
        },
        Metric(
            .gauge, "headgate_orphan_events", "Pending events of a removed dispatcher", unit: .events,
            labels: ["dispatcher"]
        ) { reading, writer in
            for orphan in reading.orphans { writer.sample(["dispatcher": orphan.id], .whole(orphan.events)) }
        },
        Metric(
            .gauge, "headgate_orphan_until_timestamp_seconds",
            "Unix time at which the queue of a removed dispatcher is dropped",
            unit: .seconds,
            labels: ["dispatcher"]
        ) { reading, writer in
            for orphan in reading.orphans {
                writer.sample(["dispatcher": orphan.id], .time(orphan.until))
            }
        },
        .one(.gauge, "headgate_store_dedupe_ids", "Remembered event ids, which detect duplicates") {
            .whole($0.store.rememberedIDs)
        },
    ]

    private static let times: [Metric] = [
        Metric(
            .histogram, "headgate_acknowledge_seconds",
            "Time from reading an event to its acknowledgement, for stored events", unit: .seconds
        ) { $1.sample([:], $0.acknowledging) },
        Metric(
            .histogram, "headgate_sync_seconds",
            "Duration of each sync of the store's files; with sqlite, of each synced transaction", unit: .seconds
        ) { $1.sample([:], $0.syncing) },
        Metric(
            .histogram, "headgate_delivery_seconds",
            "Time from an event's receipt to its delivery, in whole milliseconds, at least one", unit: .seconds,
            labels: ["dispatcher"]
        ) { reading, writer in
            for (id, measures) in reading.measures { writer.sample(["dispatcher": id], measures.delivery) }
        },
        Metric(
            .histogram, "headgate_attempt_seconds",
            "Duration of attempts to send a batch, by outcome: delivered, retry, dead or interrupted",
            unit: .seconds, labels: ["dispatcher", "outcome"]
        ) { reading, writer in
            for (id, measures) in reading.measures {
                for outcome in AttemptOutcome.allCases {
                    writer.sample(["dispatcher": id, "outcome": outcome.name], measures.attempts(outcome))
                }
            }
        },
        Metric(
            .histogram, "headgate_batch_events", "Events per sent batch", unit: .events,
            labels: ["dispatcher"]
        ) { reading, writer in
            for (id, measures) in reading.measures { writer.sample(["dispatcher": id], measures.batches) }
        },
    ]

    /// The usage of the process, under the names that Prometheus' own client libraries use.
    private static let process: [Metric] = [
        .one(
            .counter, "process_cpu_seconds_total", "CPU time used by the daemon", unit: .seconds
        ) { .seconds($0.process.processor) },
        .one(.gauge, "process_resident_memory_bytes", "Resident memory of the daemon", unit: .bytes) {
            .whole($0.process.residentBytes)
        },
        .one(.gauge, "process_virtual_memory_bytes", "Virtual memory of the daemon", unit: .bytes) {
            .whole($0.process.virtualBytes)
        },
        .one(.gauge, "process_start_time_seconds", "Unix time at which the daemon started", unit: .seconds) {
            .time($0.started)
        },
    ]
}

extension StoreShares.UserUse {
    /// The user ID, or `other` for all users that are not counted one by one.
    fileprivate var labels: KeyValuePairs<StaticString, String> { ["uid": uid.map { String($0) } ?? "other"] }
}

extension BlockedPair {
    fileprivate var labels: KeyValuePairs<StaticString, String> { ["barrier": barrier, "dispatcher": dispatcher] }
}

extension String {
    /// The text with its first letter in upper case.
    fileprivate var capitalized: String { prefix(1).uppercased() + dropFirst() }
}
