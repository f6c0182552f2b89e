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
        result: .object([
            .required("version", .name), .required("uptime_ms", .count), .required("ready", .bool),
            .required(
                "store",
                .object([
                    .required("kind", .name), .required("durability", .words(of: Durability.self)),
                    .required("events", .count), .required("bytes", .count),
                    .required("oldest_ms", .nullable(.count)),
                    .required("disk_bytes", .count, "the size of the store's files"),
                    .required(
                        "retained",
                        .object([
                            .required(
                                "events", .count,
                                "retained events: delivered to or dropped for every dispatcher, and kept by `store.retain`"
                            ),
                            .required("bytes", .count),
                            .required("oldest_ms", .nullable(.count), "the age of the oldest retained event"),
                        ])),
                    .required(
                        "dedupe",
                        .object([
                            .required("ids", .count, "the number of remembered event ids"),
                            .required(
                                "since", .nullable(.time), "the time at which the oldest remembered id was received"),
                        ])),
                    .required(
                        "encryption",
                        .nullable(
                            .object([
                                .required(
                                    "key", .nullable(.count),
                                    "the number of the key that encrypts; null while the store is decrypted"),
                                .required(
                                    "bytes", .dictionary(.count),
                                    "the bytes of the files under each key; `0` stands for plain files"),
                                .required("bytes_left", .count, "the bytes of the files that are not under `key`"),
                                .required("rewriting", .bool, "true while files are rewritten under `key`"),
                                .required(
                                    "key_file_exposed", .bool,
                                    "true if users other than its owner may read or write the key file"),
                            ])), "the encryption of the store; null if it has no keys"),
                ])),
            .required("clients", .count),
            .required(
                "network",
                .object([
                    .required("state", .words(["connected", "disconnected", "unknown"])),
                    .required("kind", .nullable(.words(of: ConnectionKind.self))),
                ])),
            .required("dispatchers", .array(DispatcherMethods.dispatcher)),
            .required("orphans", .array(DispatcherMethods.orphan)),
            .required("barriers", .array(BarrierMethods.barrier)), .required("warnings", .array(.text)),
            .required("counters", .dictionary(.count)),
        ])
    ) { parts, call in
        let state = parts.state()
        call.reply.answer { writer in
            writer.beginObject()
            writer.member("version", Version.current)
            writer.member("uptime_ms", state.uptime.wholeMilliseconds)
            writer.member("ready", state.isReady)
            writer.member("store", item: .object(parts.store))
            writer.member("clients", parts.sessions.count)
            writer.member("network", item: .object(network(parts.gate.network.value)))
            writer.dispatchers(parts.gate.dispatcherSummaries)
            writer.orphans(parts.gate.dispatchers.orphanSummaries)
            writer.barriers(parts.gate.barrierSummaries)
            writer.member("warnings", item: .array(shown(state.warnings).map { .string($0) }))
            writer.member("counters", item: .object(parts.counters))
            writer.endObject()
        }
    }

    /// Returns the service's warnings, not more than a person reads.
    private static func shown(_ all: [String]) -> [String] {
        guard all.count > Limits.mostWarnings else { return all }
        return all.prefix(Limits.mostWarnings) + ["and \(all.count - Limits.mostWarnings) more"]
    }

    private var store: DataObject {
        let stored = gate.stored
        return [
            "kind": .string(gate.events.store.kind),
            "durability": .string(control.atStart.durability.rawValue),
            "events": .number(DataNumber(stored.events)), "bytes": .number(DataNumber(stored.bytes)),
            "oldest_ms": gate.oldestAge.milliseconds,
            "disk_bytes": .number(DataNumber(gate.events.store.diskBytes)), "dedupe": .object(dedupe),
            "retained": .object(retained), "encryption": encryption.status(gate.events.store),
        ]
    }

    /// Returns the settled events that are kept (Behaviour R1).
    private var retained: DataObject {
        let retained = gate.events.store.retained
        return [
            "events": .number(DataNumber(retained.tally.events)), "bytes": .number(DataNumber(retained.tally.bytes)),
            "oldest_ms": gate.retainedAge.milliseconds,
        ]
    }

    /// Returns the number of remembered client IDs and the time of the oldest (Behaviour Q7).
    private var dedupe: DataObject {
        let (ids, since) = gate.events.remembered
        return ["ids": .number(DataNumber(ids)), "since": since.map { .string($0.text) } ?? .null]
    }

    private static func network(_ state: NetworkState) -> DataObject {
        ["state": .string(state.word), "kind": state.kind.map { .string($0.rawValue) } ?? .null]
    }

    private var counters: DataObject {
        DataObject(gate.counts.all.items + sessions.counters.items)
    }

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
    fileprivate var items: [(String, DataItem)] {
        List.allCases.map { ($0.name, .number(DataNumber(self[$0]))) }
    }
}
