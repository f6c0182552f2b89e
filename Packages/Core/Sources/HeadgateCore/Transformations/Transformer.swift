/// Changes events on their way (Behaviour P4). A program may bring its own; what the configuration describes is done by
/// ``EditingTransformer``. It is called on the worker, and does not wait for anything.
public protocol Transformer {
    /// Gives back the event as it is to go on: changed, as it came, or nil to drop it.
    ///
    /// When this throws, the event goes on as it came, and the error is counted.
    /// - Parameter dispatcher: where the event is about to go; nil before it is stored.
    func transform(_ event: EventDocument, dispatcher: String?) throws -> EventDocument?
}
