import HeadgateData
import HeadgateWire

extension HeadgateClient {
    /// Calls any method of the daemon.
    ///
    /// When the connection breaks, the client calls methods that change nothing again on the next connection. Other
    /// calls that were written end with ``ClientError/disconnected``.
    /// - Parameters:
    ///   - method: the method's name in the protocol.
    ///   - params: the params.
    ///   - deadline: the longest wait; nil waits for ever.
    @discardableResult
    public func call(
        _ method: String, params: DataObject = [:], deadline: Duration? = nil
    ) async throws -> DataItem {
        try await ask(\.item) { $0.call($1, method, params, deadline: deadline, $2) }
    }

    /// Calls a method and returns its result, which must be an object.
    func object(_ method: String, _ params: DataObject, _ deadline: Duration?) async throws -> DataObject {
        guard case .object(let object) = try await call(method, params: params, deadline: deadline) else {
            throw ClientError.badAnswer("the result of \(method) is not an object")
        }
        return object
    }

    /// Calls a method and returns one member of its result, which must be there.
    func member<Value: DataItemConvertible>(
        _ name: String, of method: String, _ params: DataObject, _ deadline: Duration?
    ) async throws -> Value {
        guard let value = try await object(method, params, deadline).get(key: name, as: Value.self) else {
            throw ClientError.badAnswer("the result of \(method) has no \(name)")
        }
        return value
    }
}

extension ClientConnection {
    /// Calls a method of the daemon.
    ///
    /// When the connection breaks, the client calls methods that change nothing again. Other calls that were written
    /// end with ``ClientError/disconnected``.
    /// - Parameters:
    ///   - method: the method's name in the protocol.
    ///   - params: the params.
    ///   - deadline: the longest wait; nil waits for ever.
    ///   - completion: called on the loop with the outcome.
    @discardableResult
    public func call(
        _ method: String, _ params: DataObject = [:], deadline: Duration? = nil, _ completion: @escaping Completion
    ) -> Call {
        let call = reserve()
        self.call(call, method, params, deadline: deadline, completion)
        return call
    }

    func call(
        _ call: Call, _ method: String, _ params: DataObject, deadline: Duration?, _ completion: @escaping Completion
    ) {
        let line = ClientConnection.line(call, method, params)
        let isRepeatable = ClientConnection.repeatableMethods.contains(method)
        begin(call, line, isRepeatable: isRepeatable, deadline: deadline, completion)
    }

    static func line(_ call: Call, _ method: String, _ params: DataObject) -> [UInt8] {
        var writer = JSONWriter()
        writer.request(id: call.number, method: method, params: params)
        writer.endLine()
        return writer.bytes
    }

    /// The methods that change nothing. `track` is repeatable only where the client has given the event an id, so it
    /// is not in this list.
    // written by Tools/protocol: repeatable
    private static let repeatableMethods: Set<String> = [
        "ping", "rights", "rpc.discover", "flush.list", "status", "barrier.list", "dispatcher.list",
        "queue.peek", "dead_letters.list", "config.get", "metrics", "event.trace", "client.list",
    ]
    // end of what Tools/protocol has written
}
