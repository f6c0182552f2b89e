import HeadgateCore
import HeadgateData
import HeadgateWire

/// `barrier.list`, and what clients do to barriers of their own (Behaviour B29): `barrier.register`, `barrier.set` and
/// `barrier.unregister`.
enum BarrierMethods {
    static let all = [
        Method("barrier.list", .observe, list), Method("barrier.register", .control, register),
        Method("barrier.set", .control, set), Method("barrier.unregister", .control, unregister),
    ]

    private static func list(_ service: Service, _ call: Call) throws(RPCError) {
        call.reply.answer { writer in
            writer.beginObject()
            writer.barriers(service.gate.barrierSummaries)
            writer.endObject()
        }
    }

    private static func register(_ service: Service, _ call: Call) throws(RPCError) {
        let reader = call.reader
        let id: String = try reader.required("id")
        if let complaint = BarrierName.complaint(about: id) { throw reader.fault("id", complaint) }
        let registration = RemoteBarrierRegistration(
            scopes: try scopes(reader), state: try reader.requiredWord("state"),
            isFlushable: try reader.optional("flushable") ?? true,
            onDisconnect: try reader.optionalWord("on_disconnect") ?? .unregister)
        do throws(RemoteBarrierRefusal) {
            try service.gate.remoteBarriers.register(id, registration, by: call.session.asOwner)
        } catch {
            throw RPCError(error, barrier: id)
        }
        call.reply.answer()
    }

    private static func set(_ service: Service, _ call: Call) throws(RPCError) {
        let reader = call.reader
        let id: String = try reader.required("id")
        let change = RemoteBarrierChange(
            state: try reader.optionalWord("state"), isFlushable: try reader.optional("flushable"),
            dispatcher: try reader.optional("dispatcher"),
            reason: try reader.optional("reason", upTo: Limits.longestReason))
        do throws(RemoteBarrierRefusal) {
            try service.gate.remoteBarriers.set(id, change, by: call.session.asOwner)
        } catch {
            throw RPCError(error, barrier: id)
        }
        call.reply.answer()
    }

    private static func unregister(_ service: Service, _ call: Call) throws(RPCError) {
        let id: String = try call.reader.required("id")
        let force: Bool = try call.reader.optional("force") ?? false
        do throws(RemoteBarrierRefusal) {
            try service.gate.remoteBarriers.unregister(id, by: call.session.asOwner, force: force)
        } catch {
            throw RPCError(error, barrier: id)
        }
        call.reply.answer()
    }

    /// Scopes: a list, or one alone; all when nothing is said (Behaviour B4).
    private static func scopes(_ reader: ParameterReader) throws(RPCError) -> [BarrierScope] {
        if case .string(let word) = try reader.optional("scopes", as: DataItem.self) {
            guard isScope(word) else { throw reader.fault("scopes", mustBeScope) }
            return [BarrierScope(rawValue: word)]
        }
        let words: [String] = try reader.optionalArray("scopes") ?? [BarrierScope.all.rawValue]
        guard words.count <= Limits.mostScopes else {
            throw RPCError(.limit, "a barrier may have no more than \(Limits.mostScopes) scopes")
        }
        if let place = words.firstIndex(where: { !isScope($0) }) {
            throw .invalidParams(path: "scopes[\(place)]", mustBeScope)
        }
        var scopes: [BarrierScope] = []
        for scope in words.map(BarrierScope.init) where !scopes.contains(scope) { scopes.append(scope) }
        return scopes
    }

    private static func isScope(_ word: String) -> Bool {
        (1...DispatcherID.longest).contains(word.utf8.count)
    }

    private static let mustBeScope = "must be `all` or the id of a dispatcher"
}

extension RPCError {
    /// Why something is not done to a barrier, as the client is told.
    fileprivate init(_ refusal: RemoteBarrierRefusal, barrier id: String) {
        switch refusal {
        case .unknown: self.init(.notFound, "there is no barrier \(id)")
        case .notRemote: self.init(.conflict, "\(id) is the service's own, or one that its settings name")
        case .belongs(let owner): self.init(.conflict, "barrier \(id) belongs to \(owner)")
        case .abandoned: self.init(.conflict, "barrier \(id) was left behind: register it to take it over")
        case .unknownDispatcher(let dispatcher): self.init(.notFound, "there is no dispatcher \(dispatcher)")
        case .tooMany(let most): self.init(.limit, "there may be no more than \(most) registered barriers")
        }
    }
}

extension JSONWriter {
    /// The member `barriers`, as `barrier.list` and `status` have it.
    mutating func barriers(_ summaries: [BarrierSummary]) {
        member("barriers")
        beginArray()
        for summary in summaries {
            element()
            barrier(summary)
        }
        endArray()
    }

    private mutating func barrier(_ summary: BarrierSummary) {
        beginObject()
        member("id", summary.identity.id)
        member("kind", summary.identity.kind)
        member("scopes", item: .array(summary.scopes.map { .string($0.rawValue) }))
        member("states")
        beginObject()
        for (dispatcher, state) in summary.states {
            member(key: dispatcher)
            string(state?.rawValue ?? "waiting")
        }
        endObject()
        member("flushable", summary.isFlushable)
        member("since", summary.since)
        member("owner", item: summary.identity.owner.map { .string($0) } ?? .null)
        member("word", summary.identity.word)
        member("reason", item: summary.reason.map { .string($0) } ?? .null)
        member("configuration", item: .object(summary.configuration ?? [:]))
        endObject()
    }
}
