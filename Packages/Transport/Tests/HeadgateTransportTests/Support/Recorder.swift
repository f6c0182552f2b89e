import HeadgateTransport

/// Records the events of a connection, and forwards them to closures.
final class Recorder: ConnectionHandler {
    private(set) var received: [UInt8] = []
    private(set) var reads = 0
    private(set) var ends = 0
    private(set) var drains = 0
    private(set) var losses = 0
    private(set) var closes = 0
    private(set) var closeError: TransportError?

    var onRead: (Connection) -> Void = { _ in }
    var onEnd: (Connection) -> Void = { $0.close() }
    var onDrain: (Connection) -> Void = { _ in }
    var onLoss: (Connection) -> Void = { _ in }
    var onClose: () -> Void = {}

    /// The number of recorded events except the close.
    var events: Int {
        reads + ends + drains + losses
    }

    var text: String {
        String(decoding: received, as: UTF8.self)
    }

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        reads += 1
        received.append(contentsOf: bytes)
        onRead(connection)
    }

    func connectionDidReachEnd(_ connection: Connection) {
        ends += 1
        onEnd(connection)
    }

    func connectionDidDrain(_ connection: Connection) {
        drains += 1
        onDrain(connection)
    }

    func connectionDidLosePeer(_ connection: Connection) {
        losses += 1
        onLoss(connection)
    }

    func connectionDidClose(_ connection: Connection, error: TransportError?) {
        closes += 1
        closeError = error
        let closed = onClose
        forgetClosures()
        closed()
    }

    /// Releases the closures, which often hold the recorder itself.
    private func forgetClosures() {
        (onRead, onEnd, onDrain, onLoss, onClose) = ({ _ in }, { _ in }, { _ in }, { _ in }, {})
    }
}
