import HeadgateCore
import HeadgateData
import HeadgateWire

/// The method `status`.
enum StatusMethods {
    private static let status = Method(
        "status", .observe, "The daemon's status, for a first look.", changesNothing: true,
        result: .object([
            .required("version", .name), .required("uptime_ms", .count), .required("ready", .bool),
            .required(
                "store",
                .object([
                    .required("kind", .name), .required("durability", .words(of: Durability.self)),
                    .required("events", .count), .required("bytes", .count),
                    .required("oldest_ms", .nullable(.count)),
                    .required("disk_bytes", .count, "what the store's files take"),
                    .required(
                        "retained",
                        .object([
                            .required("events", .count, "events that every dispatcher has settled and that are kept"),
                            .required("bytes", .count),
                            .required("oldest_ms", .nullable(.count), "the age of the oldest of them"),
                        ])),
                    .required(
                        "dedupe",
                        .object([
                            .required("ids", .count, "how many ids of clients are remembered"),
                            .required("since", .nullable(.time), "when the oldest of them was received"),
                        ])),
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
    ) { service, call in
        call.reply.answer { writer in
            writer.beginObject()
            writer.member("version", Version.current)
            writer.member("uptime_ms", service.uptime.wholeMilliseconds)
            writer.member("ready", service.isReady)
            writer.member("store", item: .object(store(service)))
            writer.member("clients", service.sessions.count)
            writer.member("network", item: .object(network(service.gate.network.value)))
            writer.dispatchers(service.gate.dispatcherSummaries)
            writer.orphans(service.gate.orphans)
            writer.barriers(service.gate.barrierSummaries)
            writer.member("warnings", item: .array(warnings(service).map { .string($0) }))
            writer.member("counters", item: .object(counters(service)))
            writer.endObject()
        }
    }

    /// Returns the service's warnings, not more than a person reads.
    private static func warnings(_ service: Service) -> [String] {
        let all = service.warnings
        guard all.count > Limits.mostWarnings else { return all }
        return all.prefix(Limits.mostWarnings) + ["and \(all.count - Limits.mostWarnings) more"]
    }

    private static func store(_ service: Service) -> DataObject {
        let stored = service.gate.stored
        return [
            "kind": .string(service.gate.events.store.kind),
            "durability": .string(service.control.atStart.durability.rawValue),
            "events": .number(DataNumber(stored.events)), "bytes": .number(DataNumber(stored.bytes)),
            "oldest_ms": service.gate.oldestAge.milliseconds,
            "disk_bytes": .number(DataNumber(service.gate.events.store.diskBytes)), "dedupe": .object(dedupe(service)),
            "retained": .object(retained(service)),
        ]
    }

    /// Returns the settled events that are kept (Behaviour R1).
    private static func retained(_ service: Service) -> DataObject {
        let retained = service.gate.events.store.retained
        return [
            "events": .number(DataNumber(retained.tally.events)), "bytes": .number(DataNumber(retained.tally.bytes)),
            "oldest_ms": service.gate.retainedAge.milliseconds,
        ]
    }

    /// Returns the number of remembered client IDs and the time of the oldest (Behaviour Q7).
    private static func dedupe(_ service: Service) -> DataObject {
        let (ids, since) = service.gate.events.remembered
        return ["ids": .number(DataNumber(ids)), "since": since.map { .string($0.text) } ?? .null]
    }

    private static func network(_ state: NetworkState) -> DataObject {
        ["state": .string(state.word), "kind": state.kind.map { .string($0.rawValue) } ?? .null]
    }

    private static func counters(_ service: Service) -> DataObject {
        DataObject(service.gate.counts.all.items + service.sessions.counters.items)
    }

    static let family = MethodFamily(methods: [status])
}

extension Counters {
    /// All counters with their names.
    fileprivate var items: [(String, DataItem)] {
        List.allCases.map { ($0.name, .number(DataNumber(self[$0]))) }
    }
}
