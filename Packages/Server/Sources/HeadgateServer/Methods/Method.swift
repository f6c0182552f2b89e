import HeadgateWire

/// The groups of methods, which the settings grant to users (Behaviour X1).
enum MethodGroup: String, CaseIterable, Sendable {
    /// The methods that every connected client may call.
    case track
    /// The methods that read the service's state and numbers, but no contents of events.
    case observe
    /// The methods that read the contents of events.
    case read
    /// The methods that operate the service. None of them changes the settings.
    case control
    /// The methods for workers and for processes that serve boards.
    case serve
    /// The method that changes the settings. The right to call it is equivalent to being the daemon's user, because
    /// settings name files to read and to write.
    case configure
}

/// The declaration of one method of the protocol: name, parameters, result, errors and code. Descriptions, checks and
/// execution of the method all use this one declaration.
struct Method: Sendable {
    let name: StaticString
    let group: MethodGroup
    /// The summary of the method, for documents.
    let summary: String
    /// A Boolean value that says whether a client may repeat the call by itself, because the method changes nothing.
    let changesNothing: Bool
    let params: [Schema.Member]
    let result: Schema
    /// The errors of the service that the method may return, besides those of every request.
    let reasons: [ErrorReason]
    /// Runs the method. The answer may be sent later.
    let run: @Sendable (Service, Call) throws(RPCError) -> Void

    /// Declares a method whose parameters are read before it runs. The method gets only the values, so it cannot read
    /// undeclared parameters, and every value has been checked.
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

    /// Declares a method that reads its parameters itself, because copying them would be too slow. A test compares its
    /// code with the declaration.
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
    /// The parameters, which the method's declaration reads. They are valid only until the method returns.
    let params: JSONView?

    init(session: Session, params: JSONView?, reply: Reply) {
        self.session = session
        self.params = params
        self.reply = reply
    }
}

/// The declaration of a request or notification that the daemon sends to clients.
struct ServerMessage: Sendable {
    let name: StaticString
    /// The purpose of the message, for documents.
    let summary: String
    let params: [Schema.Member]
    /// The result that the client must return, or nil for a notification.
    let result: Schema?

    init(_ name: StaticString, _ summary: String, params: [Schema.Member], result: Schema? = nil) {
        self.name = name
        self.summary = summary
        self.params = params
        self.result = result
    }
}

/// Methods that belong together, and the messages of the daemon that belong to them.
struct MethodFamily: Sendable {
    let methods: [Method]
    var messages: [ServerMessage] = []
}

/// All methods of the daemon.
struct MethodTable {
    static let families: [MethodFamily] = [
        ConnectionMethods.family, TrackMethods.family, FlushMethods.family, StatusMethods.family, WatchMethods.family,
        BarrierMethods.family, DispatcherMethods.family, RewindMethods.family, WorkerMethods.family,
        QueueMethods.family,
        DeadLetterMethods.family, BoardMethods.family, ConfigMethods.family, MetricsMethods.family,
        TraceMethods.family, ClientMethods.family,
    ]

    static let all: [Method] = families.flatMap(\.methods)

    private let methods = Dictionary(uniqueKeysWithValues: all.map { ($0.name.description, $0) })

    /// Returns the method of a name. Throws if there is none, or if the caller lacks the right to call it.
    /// - Parameter refused: called if the caller lacks the right.
    func method(
        _ name: String, for caller: Caller, refused: (Method) -> Void = { _ in }
    ) throws(RPCError) -> Method {
        guard let method = methods[name] else { throw .methodNotFound(name) }
        guard caller.groups.contains(method.group) else {
            refused(method)
            throw .unauthorized(name, group: method.group)
        }
        return method
    }
}

extension RPCError {
    /// Makes the error of a caller who lacks the right to call a method. It names the missing group of methods.
    fileprivate static func unauthorized(_ method: String, group: MethodGroup) -> RPCError {
        let group = group.rawValue
        return RPCError(
            .unauthorized,
            "\(method) needs the right `\(group)`, which access.\(group) in the daemon's settings grants to users and groups",
            data: ["group": .string(group)])
    }
}
