import HeadgateData

/// A handler of requests and notifications that the daemon sends to clients.
protocol Duty: AnyObject {
    /// The methods that it handles.
    var methods: Set<String> { get }
    /// Called when a client has read such a message.
    /// - Parameter id: Nil for a notification.
    func came(_ method: String, _ params: DataObject, id: Int?, to client: SimulatedClient)
}

/// The answer to a client's request.
enum Answer {
    case result(DataObject)
    /// Refused with a reason and data.
    case refused(String, DataObject)

    var isResult: Bool { if case .result = self { true } else { false } }
}

extension SimulatedClient {
    /// Answers a request of the daemon.
    /// - Parameter result: JSON.
    func answer(_ id: Int, result: String) {
        send(#"{"jsonrpc":"2.0","id":\#(id),"result":\#(result)}"#)
    }

    func answer(_ id: Int, error message: String) {
        send(#"{"jsonrpc":"2.0","id":\#(id),"error":{"code":1,"message":"\#(message)"}}"#)
    }
}
