import HeadgateData
import HeadgateWire

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

    /// The result of a call, which has to be an object.
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

extension ClientConnection {
    /// Calls a method of the daemon.
    ///
    /// Methods that change nothing are called again when the connection breaks. Others end with
    /// ``ClientError/disconnected`` if they had been written.
    /// - Parameters:
    ///   - method: its name in the protocol.
    ///   - params: its params.
    ///   - deadline: how long the caller waits; nil is for ever.
    ///   - completion: told on the loop what came of it.
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

    /// The methods that change nothing. An event is tracked under an id, so that `track` is repeatable, too; but only
    /// here, where it is certain to have one.
    // written by Tools/protocol: repeatable
    private static let repeatableMethods: Set<String> = [
        "ping", "rpc.discover", "flush.list", "status", "barrier.list", "dispatcher.list", "queue.peek",
        "dead_letters.list", "config.get", "metrics", "event.trace", "client.list",
    ]
    // end of what Tools/protocol has written
}
