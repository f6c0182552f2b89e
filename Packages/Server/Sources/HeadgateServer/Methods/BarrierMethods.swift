import HeadgateCore
import HeadgateData
import HeadgateWire

/// The method `barrier.list`, and the methods for a client's own barriers (Behaviour B29): `barrier.register`,
/// `barrier.set` and `barrier.unregister`.
struct BarrierMethods: MethodFamily {
    let gate: Headgate

    private static let list = FamilyMethod<Self>(
        "barrier.list", .observe, "Returns every barrier with its states.", changesNothing: true,
        result: OutputShape.object([all]).schema
    ) { parts, call in call.reply.answer(.object([all]), parts.gate) }

    private static let register = FamilyMethod<Self>(
        "barrier.register", .control,
        "Registers a barrier that the client controls, or takes over one whose owner has disconnected.",
        Field("id", .string(1...BarrierName.longest, problem: BarrierName.problem)),
        Field(optional: "scopes", scopes, default: [.all], asItem: "all", "`all`, or ids of dispatchers"),
        Field("state", Shape<BarrierState>.word), Field(optional: "flushable", default: true),
        Field(
            optional: "on_disconnect", default: RemoteBarrierRegistration.OnDisconnect.unregister,
            "the barrier's state after the client has disconnected"), reasons: [.conflict, .limit, .storage]
    ) { parts, call, id, scopes, state, isFlushable, onDisconnect throws(RPCError) in
        guard scopes.count <= Limits.mostScopes else {
            throw RPCError(.limit, "a barrier has at most \(Limits.mostScopes) scopes")
        }
        let registration = RemoteBarrierRegistration(
            scopes: distinct(scopes), state: state, isFlushable: isFlushable, onDisconnect: onDisconnect)
        do throws(RemoteBarrierRefusal) {
            try parts.gate.remoteBarriers.register(
                id, registration, by: call.session.asOwner, then: call.reply.answerWritten())
        } catch {
            throw RPCError(error, barrier: id)
        }
    }

    private static let set = FamilyMethod<Self>(
        "barrier.set", .control, "Changes the state of a barrier that the client has registered.", Field("id", .string),
        Field(optional: "state", Shape<BarrierState>.word), Field(optional: "flushable", .bool),
        Field(optional: "dispatcher", .string, "the dispatcher, if the state is not for all"),
        Field(optional: "reason", .string(0...Limits.longestReason), "the reason, shown with the barrier"),
        reasons: [.notFound, .conflict, .storage]
    ) { parts, call, id, state, isFlushable, dispatcher, reason throws(RPCError) in
        let change = RemoteBarrierChange(
            state: state, isFlushable: isFlushable, dispatcher: dispatcher, reason: reason)
        do throws(RemoteBarrierRefusal) {
            try parts.gate.remoteBarriers.set(
                id, change, by: call.session.asOwner, then: call.reply.answerWritten())
        } catch {
            throw RPCError(error, barrier: id)
        }
    }

    private static let unregister = FamilyMethod<Self>(
        "barrier.unregister", .control, "Removes a barrier.", Field("id", .string),
        Field(optional: "force", default: false, "remove it even if another client has registered it"),
        reasons: [.notFound, .conflict, .storage]
    ) { parts, call, id, force throws(RPCError) in
        do throws(RemoteBarrierRefusal) {
            try parts.gate.remoteBarriers.unregister(
                id, by: call.session.asOwner, force: force, then: call.reply.answerWritten())
        } catch {
            throw RPCError(error, barrier: id)
        }
    }

    // MARK: Scopes

    private static let scope = Shape<String>.string(1...DispatcherID.longest).map(BarrierScope.init(rawValue:))

    /// The scopes of a barrier: a list, or a single scope (Behaviour B4).
    private static let scopes = Shape<[BarrierScope]>(
        .either([.array(scope.schema), scope.schema])
    ) { view throws(ParameterFault) in
        if view.kind == .string { return [try scope.read(view)] }
        return try Shape.array(of: scope).read(view)
    }

    private static func distinct(_ scopes: [BarrierScope]) -> [BarrierScope] {
        var distinct: [BarrierScope] = []
        for scope in scopes where !distinct.contains(scope) { distinct.append(scope) }
        return distinct
    }

    // MARK: A barrier

    /// The member of `barrier.list` and `status` with all barriers.
    static let all = OutputMembers<Headgate>.required("barriers", .array(barrier), \.barrierSummaries)

    /// A barrier in `barrier.list`, `status` and the topic `barriers`.
    static let barrier = OutputShape<BarrierSummary>.object([
        .required("id", .name, \.identity.id), .required("kind", .name, \.identity.kind),
        .required(
            "scopes", .array(.name), { $0.scopes.map(\.rawValue) },
            "`all`, or the ids of dispatchers; empty if the barrier is switched off"),
        .required("states", .dictionary(state), \.statesByDispatcher, "the state for each dispatcher"),
        .required("flushable", .bool, \.isFlushable), .required("since", .time, \.since),
        .required("owner", .nullable(.name), \.identity.owner, "the session that registered it"),
        .required("word", .name, \.identity.word, "the reason word, as in `queue_reason`"),
        .required(
            "reason", .nullable(.text), \.reason, "the reason that the operator or the owner gave, or the cause"),
        .required("configuration", .anyObject, { $0.configuration ?? [:] }),
    ]).named("Barrier")

    private static let state = OutputShape<String>.words(["open", "closed", "waiting"]).of {
        (state: BarrierState?) in state?.rawValue ?? "waiting"
    }

    static let methods = [list, register, set, unregister]
}

extension RPCError {
    /// Makes the client's error of a refused call.
    fileprivate init(_ refusal: RemoteBarrierRefusal, barrier id: String) {
        switch refusal {
        case .unknown: self.init(.notFound, "there is no barrier \(id)")
        case .notRemote:
            self.init(.conflict, "barrier \(id) is built in or in the settings: no client can change it")
        case .belongs(let owner): self.init(.conflict, "barrier \(id) belongs to \(owner)")
        case .ownerless:
            self.init(.conflict, "barrier \(id) was left by a client that disconnected: register it to take it over")
        case .unknownDispatcher(let dispatcher): self.init(.notFound, "there is no dispatcher \(dispatcher)")
        case .tooMany(let most): self.init(.limit, "the limit of \(most) registered barriers is reached")
        }
    }
}

extension BarrierSummary {
    fileprivate var statesByDispatcher: [(key: String, value: BarrierState?)] {
        states.map { ($0.dispatcher, $0.state) }
    }
}
