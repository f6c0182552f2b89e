import HeadgateWire

/// All methods of the daemon.
struct MethodTable {
    static var families: [any MethodFamily.Type] {
        [
            ConnectionMethods.self, TrackMethods.self, FlushMethods.self, StatusMethods.self, WatchMethods.self,
            BarrierMethods.self, DispatcherMethods.self, RewindMethods.self, WorkerMethods.self, QueueMethods.self,
            DeadLetterMethods.self, BoardMethods.self, ConfigMethods.self, MetricsMethods.self, TraceMethods.self,
            ClientMethods.self, BackupMethods.self,
            EraseMethods.self, RekeyMethods.self,
        ]
    }

    static let all: [Method] = families.flatMap { $0.declarations }

    /// All messages that the daemon sends by itself.
    static let messages: [ServerMessage] = families.flatMap { $0.messages }

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name.description, $0) })

    private let calls: [String: MethodCall]

    /// - Parameter families: one value of each of ``families``.
    init(_ families: [any MethodFamily]) {
        calls = Dictionary(uniqueKeysWithValues: families.flatMap(\.calls).map { ($0.method.name.description, $0) })
    }

    /// Returns the method of a name. Throws if there is none, or if the caller lacks the right to call it.
    /// - Parameter refused: called if the caller lacks the right.
    static func method(
        _ name: String, for caller: Caller, refused: (Method) -> Void = { _ in }
    ) throws(RPCError) -> Method {
        guard let method = byName[name] else { throw .methodNotFound(name) }
        guard caller.groups.contains(method.group) else {
            refused(method)
            throw .unauthorized(name, group: method.group)
        }
        return method
    }

    /// Runs a call of a method.
    func run(_ method: Method, _ call: Call) throws(RPCError) {
        try calls[method.name.description]?.run(call)
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
