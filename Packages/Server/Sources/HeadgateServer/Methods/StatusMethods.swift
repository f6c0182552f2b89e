import HeadgateCore
import HeadgateData
import HeadgateWire

/// The method `status`.
struct StatusMethods: MethodFamily {
    let gate: Headgate
    let sessions: SessionRegistry
    let control: SettingsControl
    let encryption: ServiceEncryption
    /// Returns the state of the service now.
    let state: () -> ServiceState

    private static let status = FamilyMethod<Self>(
        "status", .observe, "Returns the status of the daemon, its store, dispatchers and barriers.",
        changesNothing: true,
        result: result.schema
    ) { parts, call in call.reply.answer(result, (parts, parts.state())) }

    private static let result = OutputShape<(parts: StatusMethods, state: ServiceState)>.object([
        .required("version", .name, { _ in Version.current }), .required("uptime_ms", .milliseconds, \.state.uptime),
        .required("ready", .bool, \.state.isReady), .required("store", store, \.parts),
        .required("clients", .count, \.parts.sessions.count),
        .required("network", network, \.parts.gate.network.value), DispatcherMethods.all.of(\.parts.gate),
        BarrierMethods.all.of(\.parts.gate), .required("warnings", .array(.text), { shown($0.state.warnings) }),
        .required("counters", .dictionary(.count), \.parts.counters),
    ])

    private static let store = OutputShape<StatusMethods>.object([
        .required("kind", .name, \.gate.events.store.kind),
        .required("durability", .word, \.control.atStart.durability),
        .required("events", .count, \.gate.stored.events), .required("bytes", .count, \.gate.stored.bytes),
        .required("oldest_ms", .nullable(.milliseconds), \.gate.oldestAge),
        .required("disk_bytes", .count, \.gate.events.store.diskBytes, "the size of the store's files"),
        .required("dedupe", dedupe, \.gate.events.remembered), .required("retained", retained, \.gate),
        .required(
            "encryption", .nullable(ServiceEncryption.shape), { $0.encryption.status($0.gate.events.store) },
            "the encryption of the store; null if it has no keys"),
        .required(
            "erasure", .nullable(WatchMessages.erasure), \.gate.erasure,
            "the erasure in progress; null if there is none"),
    ])

    /// The retained events: delivered to or dropped for every dispatcher, and kept by `store.retain` (Behaviour R1).
    private static let retained = OutputShape<Headgate>.object([
        .required(
            "events", .count, \.events.store.retained.tally.events,
            "retained events: delivered to or dropped for every dispatcher, and kept by `store.retain`"),
        .required("bytes", .count, \.events.store.retained.tally.bytes),
        .required("oldest_ms", .nullable(.milliseconds), \.retainedAge, "the age of the oldest retained event"),
    ])

    /// The number of remembered event IDs, and the time at which the oldest of these was received (Behaviour Q7).
    private static let dedupe = OutputShape<(ids: Int, since: Timestamp?)>.object([
        .required("ids", .count, \.ids, "the number of remembered event ids"),
        .required(
            "since", .nullable(.time), \.since, "the time at which the oldest remembered id was received"),
    ])

    private static let network = OutputShape<NetworkState>.object([
        .required("state", .words(["connected", "disconnected", "unknown"]), \.word),
        .required("kind", .nullable(.word), \.kind),
    ])

    /// Returns at most ``Limits/mostWarnings`` warnings, and the number of the others as a last line.
    private static func shown(_ all: [String]) -> [String] {
        guard all.count > Limits.mostWarnings else { return all }
        return all.prefix(Limits.mostWarnings) + ["and \(all.count - Limits.mostWarnings) more"]
    }

    private var counters: [(key: String, value: Int)] { gate.counts.all.items + sessions.counters.items }

    static let methods = [status]
}

/// The state of the service, for `status`.
struct ServiceState {
    /// The time since the start.
    let uptime: Duration
    /// A Boolean value that says whether clients can connect.
    let isReady: Bool
    let warnings: [String]
}

extension Counters {
    /// All counters with their names.
    fileprivate var items: [(key: String, value: Int)] {
        List.allCases.map { ($0.name, self[$0]) }
    }
}
