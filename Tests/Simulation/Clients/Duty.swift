import HeadgateData

/// What clients do for the daemon, when it asks them or tells them something.
protocol Duty: AnyObject {
    /// The messages of the daemon that it takes.
    var methods: Set<String> { get }
    /// A client has read such a message.
    /// - Parameter id: nil for a notification, which nobody answers.
    func came(_ method: String, _ params: DataObject, id: Int?, to client: SimulatedClient)
}

/// What a client's request came to.
enum Answer {
    case result(DataObject)
    /// It was refused, for this reason, with this data.
    case refused(String, DataObject)

    var isResult: Bool { if case .result = self { true } else { false } }
}

extension SimulatedClient {
    /// - Parameter result: JSON.
    func answer(_ id: Int, result: String) {
        send(#"{"jsonrpc":"2.0","id":\#(id),"result":\#(result)}"#)
    }

    func answer(_ id: Int, error message: String) {
        send(#"{"jsonrpc":"2.0","id":\#(id),"error":{"code":1,"message":"\#(message)"}}"#)
    }
}
