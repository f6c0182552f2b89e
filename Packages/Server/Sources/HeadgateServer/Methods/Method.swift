import HeadgateWire

/// Groups of methods, to which users may be given access (Behaviour X1).
enum MethodGroup: String, CaseIterable, Sendable {
    /// What everyone may do who can connect.
    case track
    /// Looking.
    case observe
    /// Steering.
    case control
    /// Taking dispatches and serving boards.
    case serve
}

/// A method of the protocol: what it is called, takes, does and answers. All that is told of it, checked for it and carried
/// out by it follows from this one declaration.
struct Method: Sendable {
    let name: StaticString
    let group: MethodGroup
    /// What it does, for people.
    let summary: String
    /// Whether a client may repeat it without being asked, since it changes nothing.
    let changesNothing: Bool
    let params: [Schema.Member]
    let result: Schema
    /// The service's own errors that it may end with, beside those that any request may.
    let reasons: [ErrorReason]
    /// Carries the method out; the answer may come later.
    let run: @Sendable (Service, Call) throws(RPCError) -> Void

    /// A method whose parameters are read before it runs. It gets their values and nothing else of them: what is not
    /// declared cannot be read, and what is declared is checked as the document says.
    init<each Value>(
        _ name: StaticString, _ group: MethodGroup, _ summary: String, changesNothing: Bool = false,
        _ params: repeat Field<each Value>, result: Schema = .empty, reasons: [ErrorReason] = [],
        run: @escaping @Sendable (Service, Call, repeat each Value) throws(RPCError) -> Void
    ) {
        var members: [Schema.Member] = []
        for param in repeat each params { members.append(param.member) }
        self.init(
            name, group, summary, changesNothing: changesNothing, readingItself: members, result: result,
            reasons: reasons
        ) { service, call, view throws(RPCError) in
            let values: (repeat each Value)
            do throws(ParameterFault) {
                values = (repeat try (each params).read(view))
            } catch {
                throw RPCError(error)
            }
            try run(service, call, repeat each values)
        }
    }

    /// A method that reads its parameters itself, since it is too hot to have them copied out of the line. A test holds
    /// it to what is declared.
    init(
        _ name: StaticString, _ group: MethodGroup, _ summary: String, changesNothing: Bool = false,
        readingItself params: [Schema.Member], result: Schema = .empty, reasons: [ErrorReason] = [],
        run: @escaping @Sendable (Service, Call, JSONView?) throws(RPCError) -> Void
    ) {
        self.name = name
        self.group = group
        self.summary = summary
        self.changesNothing = changesNothing
        self.params = params
        self.result = result
        self.reasons = reasons
        self.run = { service, call throws(RPCError) in try run(service, call, call.params) }
    }
}

/// One call of a method.
struct Call {
    let session: Session
    let reply: Reply
    /// For the method's declaration, which reads them. They are only valid until the method returns.
    fileprivate let params: JSONView?

    init(session: Session, params: JSONView?, reply: Reply) {
        self.session = session
        self.params = params
        self.reply = reply
    }
}

/// What the server sends to clients without being asked for it.
struct ServerMessage: Sendable {
    let name: StaticString
    /// What it is for, for people.
    let summary: String
    let params: [Schema.Member]
    /// What the client is to answer; nil for a notification.
    let result: Schema?

    init(_ name: StaticString, _ summary: String, params: [Schema.Member], result: Schema? = nil) {
        self.name = name
        self.summary = summary
        self.params = params
        self.result = result
    }
}

/// Methods that belong together, and what the server sends because of them.
struct MethodFamily: Sendable {
    let methods: [Method]
    var messages: [ServerMessage] = []
}

/// Every method that the daemon knows.
struct MethodTable {
    static let families: [MethodFamily] = [
        ConnectionMethods.family, TrackMethods.family, FlushMethods.family, StatusMethods.family, WatchMethods.family,
        BarrierMethods.family, DispatcherMethods.family, WorkerMethods.family, QueueMethods.family,
        DeadLetterMethods.family, BoardMethods.family, ConfigMethods.family, MetricsMethods.family,
        TraceMethods.family, ClientMethods.family,
    ]

    static let all: [Method] = families.flatMap(\.methods)

    private let methods = Dictionary(uniqueKeysWithValues: all.map { ($0.name.description, $0) })

    /// The method of a name, for a caller who may use it.
    func method(_ name: String, for caller: Caller) throws(RPCError) -> Method {
        guard let method = methods[name] else { throw .methodNotFound(name) }
        guard caller.groups.contains(method.group) else {
            throw RPCError(.unauthorized, "\(name) is not allowed: it needs the right to \(method.group.rawValue)")
        }
        return method
    }
}
