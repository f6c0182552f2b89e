import HeadgateTransport
import HeadgateWire

/// One client's connection to a scripted daemon.
final class Visitor: ConnectionHandler {
    let number: Int
    private let connection: Connection
    private let onMessage: (Visitor, IncomingMessage) -> Void
    private let onEnd: () -> Void
    private let decoder = MessageDecoder()
    private var framer = LineFramer(maxLineBytes: 1 << 20)
    private var isDone = false

    init(
        _ connection: Connection, number: Int, onMessage: @escaping (Visitor, IncomingMessage) -> Void,
        onEnd: @escaping () -> Void
    ) {
        self.connection = connection
        self.number = number
        self.onMessage = onMessage
        self.onEnd = onEnd
    }

    func write(_ bytes: [UInt8]) {
        connection.write(bytes)
    }

    func close() {
        isDone = true
        connection.close()
    }

    /// Reads nothing more, and closes when all has been written.
    func closeAfterFlush() {
        isDone = true
        connection.closeAfterFlush()
    }

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        framer.lend(bytes)
        while !isDone, case .text(let line)? = framer.next() {
            if case .message(let message) = decoder.decode(line) { onMessage(self, message) }
        }
        framer.keepRest()
    }

    func connectionDidReachEnd(_ connection: Connection) {
        close()
    }

    func connectionDidClose(_ connection: Connection, error: TransportError?) {
        onEnd()
    }
}
