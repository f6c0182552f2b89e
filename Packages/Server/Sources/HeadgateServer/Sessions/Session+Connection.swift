import HeadgateTransport

/// Forwards the events of a socket to its session.
extension Session: ConnectionHandler {
    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        took(bytes)
    }

    func connectionDidReachEnd(_ connection: Connection) {
        endReached()
    }

    func connectionDidDrain(_ connection: Connection) {
        outputDrained()
    }

    func connectionDidLosePeer(_ connection: Connection) {
        peerLost()
    }

    func connectionDidClose(_ connection: Connection, error: TransportError?) {
        connectionClosed()
    }
}
