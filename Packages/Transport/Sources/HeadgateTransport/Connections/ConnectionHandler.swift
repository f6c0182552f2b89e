/// Told what happens on a ``Connection``, on its loop's thread. Any of these may write to the connection, pause or
/// close it; after a close only ``connectionDidClose(_:error:)`` is still to come.
public protocol ConnectionHandler: AnyObject {
    /// Bytes have come. They are gone after the call: use or copy them. Behind them are 64 readable bytes, all zero.
    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer)
    /// The peer will send no more; it may still read. The connection stays open until it is closed.
    func connectionDidReachEnd(_ connection: Connection)
    /// All output has been written, or there is nobody any more to write to.
    func connectionDidDrain(_ connection: Connection)
    /// The peer can read no more: it is gone, or as good as. What was to be written is dropped. What it sent before is
    /// still read (a paused connection must be resumed for it), then the connection closes by itself.
    func connectionDidLosePeer(_ connection: Connection)
    /// It is closed, for good: the one call that always comes, and the last. `error` is nil after
    /// ``Connection/close()`` and at the end of the loop.
    func connectionDidClose(_ connection: Connection, error: TransportError?)
}

extension ConnectionHandler {
    public func connectionDidDrain(_ connection: Connection) {}
    public func connectionDidLosePeer(_ connection: Connection) {}
}
