import HeadgateWire

/// Every method that the daemon knows.
struct MethodTable {
    static let all: [Method] =
        ConnectionMethods.all + TrackMethods.all + FlushMethods.all + StatusMethods.all + BarrierMethods.all
        + DispatcherMethods.all + WatchMethods.all + ApplicationMethods.all + ConfigMethods.all
        + WorkerMethods.all + QueueMethods.all + DeadLetterMethods.all + BoardMethods.all

    private let methods = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// The method of a name, for a caller who may use it.
    func method(_ name: String, for caller: Caller) throws(RPCError) -> Method {
        guard let method = methods[name] else { throw .methodNotFound(name) }
        guard caller.groups.contains(method.group) else {
            throw RPCError(.unauthorized, "\(name) is not allowed: it needs the right to \(method.group.rawValue)")
        }
        return method
    }
}
