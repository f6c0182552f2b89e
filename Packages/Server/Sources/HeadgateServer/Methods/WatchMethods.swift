import HeadgateCore
import HeadgateWire

/// The methods `watch` and `unwatch`, and the notification `changed` (Behaviour B10).
struct WatchMethods: MethodFamily {
    let watches: Watches

    private static let watch = FamilyMethod<Self>(
        "watch", .observe,
        "Starts a watch: the daemon reports the present state and later changes as `changed` notifications.",
        Field(
            optional: "topics", .array(of: Shape<WatchTopic>.word, atLeast: 1), default: WatchTopic.allCases,
            asItem: .array(WatchTopic.allCases.map { .string($0.rawValue) })),
        result: started.schema, reasons: [.limit]
    ) { parts, call, topics throws(RPCError) in
        let id = try parts.watches.start(Set(topics), for: call.session)
        call.reply.answer(started, id)
    }

    private static let unwatch = FamilyMethod<Self>(
        "unwatch", .observe, "Ends a watch.", Field("watch", .string), reasons: [.notFound]
    ) { parts, call, id throws(RPCError) in
        guard parts.watches.end(id, of: call.session) else {
            throw RPCError(.notFound, "there is no watch \(id) of this connection")
        }
        call.reply.answer()
    }

    private static let started = OutputShape<String>.object([.required("watch", .name, \.self)])

    static let methods = [watch, unwatch]
    static let messages = [WatchMessages.changed]
}
