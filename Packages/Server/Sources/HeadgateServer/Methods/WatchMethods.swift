import HeadgateCore
import HeadgateWire

/// The methods `watch` and `unwatch`, and the notification `changed` (Behaviour B10).
enum WatchMethods {
    private static let watch = Method(
        "watch", .observe, "Reports changes by `changed` notifications.",
        Field(
            optional: "topics", .array(of: Shape<WatchTopic>.word, atLeast: 1), usually: WatchTopic.allCases,
            told: .array(WatchTopic.allCases.map { .string($0.rawValue) })),
        result: .object([.required("watch", .name)]), reasons: [.limit]
    ) { service, call, topics throws(RPCError) in
        let id = try service.watches.start(Set(topics), for: call.session)
        call.reply.answer(["watch": .string(id)])
    }

    private static let unwatch = Method(
        "unwatch", .observe, "Ends a watch.", Field("watch", .string), reasons: [.notFound]
    ) { service, call, id throws(RPCError) in
        guard service.watches.end(id, of: call.session) else {
            throw RPCError(.notFound, "there is no watch \(id) of this connection")
        }
        call.reply.answer()
    }

    static let changed = ServerMessage(
        "changed", "A change for a watch. The topic's member holds the new state.",
        params: [
            .required("watch", .name), .required("topic", .words(of: WatchTopic.self)),
            .optional("dispatchers", .array(DispatcherMethods.dispatcher)),
            .optional("barriers", .array(BarrierMethods.barrier)),
            .optional("removed", .array(.name), "the ids of those that are there no more"),
            .optional("outcomes", .array(outcomes), "since the notification before"),
            .optional("clients", .array(.object(SessionIdentity.members))),
            .optional("count", .count, "of the clients"),
        ])

    private static let outcomes = Schema.object(
        [.required("dispatcher", .name)] + outcomeCounters + [.required("last_error", .nullable(.text))])

    private static let outcomeCounters: [Schema.Member] = DispatcherCounter.allCases.compactMap { counter in
        counter.nameAsOutcome.map { .required($0, .count, counter.meaning) }
    }

    static let family = MethodFamily(methods: [watch, unwatch], messages: [changed])
}
