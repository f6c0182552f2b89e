import HeadgateData

extension HeadgateClient {
    /// Calls any method of the daemon.
    ///
    /// When the connection breaks, methods that change nothing are called again on the next one; others end with
    /// ``ClientError/disconnected`` if they had been written.
    /// - Parameters:
    ///   - method: its name in the protocol.
    ///   - params: its params.
    ///   - deadline: how long to wait; nil is for ever.
    @discardableResult
    public func call(
        _ method: String, params: DataObject = [:], deadline: Duration? = nil
    ) async throws -> DataItem {
        try await ask(\.item) { $0.call($1, method, params, deadline: deadline, $2) }
    }

    /// Closes the way to a dispatcher by its ManualBarrier, which survives a restart (Behaviour B23).
    /// - Parameters:
    ///   - dispatcher: its id.
    ///   - reason: why, for people.
    ///   - flushable: whether flushes go through all the same.
    ///   - deadline: how long to wait; nil is for ever.
    public func pause(
        _ dispatcher: String, reason: String? = nil, flushable: Bool = false, deadline: Duration? = nil
    ) async throws {
        var params: DataObject = ["id": .string(dispatcher)]
        params["reason"] = reason.map { .string($0) }
        if flushable { params["flushable"] = true }
        _ = try await object("dispatcher.pause", params, deadline)
    }

    /// Opens a dispatcher's ManualBarrier again (Behaviour B23).
    public func resume(_ dispatcher: String, deadline: Duration? = nil) async throws {
        _ = try await object("dispatcher.resume", ["id": .string(dispatcher)], deadline)
    }

    /// All barriers, with what they hold and why (Behaviour B10).
    public func barriers(deadline: Duration? = nil) async throws -> [ListedBarrier] {
        let result = try await object("barrier.list", [:], deadline)
        guard let barriers = ListedBarrier.list(in: result) else {
            throw ClientError.badAnswer("a result of barrier.list without barriers")
        }
        return barriers
    }

    /// All dispatchers, with what they have done and what holds them.
    public func dispatchers(deadline: Duration? = nil) async throws -> [ListedDispatcher] {
        let result = try await object("dispatcher.list", [:], deadline)
        guard let dispatchers = ListedDispatcher.list(in: result) else {
            throw ClientError.badAnswer("a result of dispatcher.list without dispatchers")
        }
        return dispatchers
    }

    func object(_ method: String, _ params: DataObject, _ deadline: Duration?) async throws -> DataObject {
        guard case .object(let object) = try await call(method, params: params, deadline: deadline) else {
            throw ClientError.badAnswer("a result of \(method) that is no object")
        }
        return object
    }

    /// A member of a result that there has to be.
    func member<Value: DataItemConvertible>(
        _ name: String, of method: String, _ params: DataObject, _ deadline: Duration?
    ) async throws -> Value {
        guard let value = try await object(method, params, deadline).get(key: name, as: Value.self) else {
            throw ClientError.badAnswer("a result of \(method) without \(name)")
        }
        return value
    }
}
