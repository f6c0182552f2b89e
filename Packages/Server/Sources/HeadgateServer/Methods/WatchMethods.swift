import HeadgateWire

extension WatchTopic: ParameterValue {}

/// `watch` and `unwatch` (Behaviour B10).
enum WatchMethods {
    static let all = [Method("watch", .observe, watch), Method("unwatch", .observe, unwatch)]

    private static func watch(_ service: Service, _ call: Call) throws(RPCError) {
        let topics: [WatchTopic]? = try call.reader.optionalArray("topics")
        guard topics?.isEmpty != true else { throw call.reader.fault("topics", "must not be empty") }
        let id = try service.watches.start(Set(topics ?? WatchTopic.allCases), for: call.session)
        call.reply.answer(["watch": .string(id)])
    }

    private static func unwatch(_ service: Service, _ call: Call) throws(RPCError) {
        let id: String = try call.reader.required("watch")
        guard service.watches.end(id, of: call.session) else {
            throw RPCError(.notFound, "there is no watch \(id) of this connection")
        }
        call.reply.answer()
    }
}
