import HeadgateCore
import HeadgateData

/// Makes the senders of one kind of dispatchers that a program brings (Behaviour K5). Settings use it like any other:
///
///     "dispatchers": {"ledger": {"kind": "ledger", "dispatch_limit": 10, "configuration": {"book": 7}}}
///
/// Queue, barriers, retries and dead letters are the service's, as for all kinds.
public protocol SenderFactory {
    /// The kind's name, as `kind` in the settings takes it.
    var kind: String { get }
    /// Whether the destinations lie beyond a network, so that the ConnectivityBarrier holds them (Behaviour B20).
    var reachesNetwork: Bool { get }
    /// Makes the sender of one dispatcher: at the start, and again when its settings change.
    /// - Parameters:
    ///   - configuration: the object `configuration` of its entry, empty where there is none.
    ///   - worker: where all of the sender is called.
    /// - Throws: anything; at the start it ends the start, later the change is refused with it (Behaviour S2).
    func makeSender(dispatcher id: String, configuration: DataObject, on worker: any Worker) throws -> any Sender
}
