import HeadgateCore
import HeadgateWire

/// `dispatcher.subscribe` and `dispatcher.unsubscribe` (Behaviour K3).
enum WorkerMethods {
    static let all = [
        Method("dispatcher.subscribe", .serve, subscribe), Method("dispatcher.unsubscribe", .serve, unsubscribe),
    ]

    private static func subscribe(_ service: Service, _ call: Call) throws(RPCError) {
        let reader = call.reader
        let id: String = try reader.required("id")
        let credit = try reader.optional("credit", in: 1...DispatcherSettings.mostInFlight) ?? 1
        let mostEvents = try reader.optional("limit", in: 1...) ?? .max
        guard let workforce = service.workforces.open(id) else {
            guard service.gate.hasDispatcher(id) else { throw RPCError(.notFound, "there is no dispatcher \(id)") }
            throw RPCError(.conflict, "dispatcher \(id) is not of kind worker")
        }
        call.reply.answer()
        workforce.subscribe(call.session, credit: credit, mostEvents: mostEvents)
    }

    private static func unsubscribe(_ service: Service, _ call: Call) throws(RPCError) {
        let id: String = try call.reader.required("id")
        let reply = call.reply
        let workforce = service.workforces.known(id)
        guard workforce?.unsubscribe(call.session.number, then: { reply.answer() }) == true else {
            throw RPCError(.notFound, "no subscription to dispatcher \(id)")
        }
    }
}
