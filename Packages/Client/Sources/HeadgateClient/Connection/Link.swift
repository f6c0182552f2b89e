import HeadgateData
import HeadgateTransport
import HeadgateWire

/// The owner of a link, which gets its messages.
protocol LinkObserver: AnyObject {
    /// Called with each message, which is only valid during the call.
    func link(_ link: Link, received message: IncomingMessage)
    /// Called with the text of a line that is not a message of the protocol.
    func link(_ link: Link, receivedNonsense text: String)
    /// Called when the connection has ended, except by `close`.
    func linkDidEnd(_ link: Link)
}

/// One connection to the daemon, as a sequence of messages.
final class Link {
    private weak var observer: (any LinkObserver)?
    private let connection: any LinkConnection
    private let decoder = MessageDecoder(maxDepth: JSONScanner.greatestDepth)
    private var framer = LineFramer(maxLineBytes: Link.longestAnswer)

    /// The longest answer. Answers are as long as the lists that they contain, so this only bounds the memory that
    /// another program's socket can use.
    private static let longestAnswer = 256 << 20

    init(over connection: any LinkConnection, observer: any LinkObserver) {
        self.connection = connection
        self.observer = observer
        connection.begin(self)
    }

    /// Writes bytes. The bytes of one turn of the loop go out together.
    func write(_ bytes: [UInt8]) {
        connection.write(bytes)
    }

    /// Writes a message and the end of its line.
    func write(message: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        message(&writer)
        writer.endLine()
        connection.write(writer.bytes)
    }

    /// Closes the connection, and reports none of its later events.
    func close() {
        observer = nil
        connection.close()
    }

    /// Closes the connection once everything is written, and reports no more of its events.
    func closeAfterFlush() {
        observer = nil
        connection.closeAfterFlush()
    }

    /// Takes input, which has readable bytes behind it as ``ConnectionHandler`` says.
    func took(_ bytes: UnsafeRawBufferPointer) {
        framer.borrow(bytes)
        while observer != nil, let line = framer.next() { take(line) }
        framer.keepRest()
    }

    /// Takes the end of the input. An unfinished line is dropped.
    func end() {
        let observer = self.observer
        close()
        observer?.linkDidEnd(self)
    }

    private func take(_ line: LineFramer.Line) {
        guard case .text(let text) = line else {
            observer?.link(self, receivedNonsense: "a line has more than \(Link.longestAnswer) bytes")
            return
        }
        switch decoder.decode(text) {
        case .message(let message): observer?.link(self, received: message)
        case .batch(let messages):
            for message in messages { observer?.link(self, received: message) }
        }
    }
}

extension Link: ConnectionHandler {
    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        took(bytes)
    }

    func connectionDidReachEnd(_ connection: Connection) {
        end()
    }

    func connectionDidClose(_ connection: Connection, error: TransportError?) {
        end()
    }
}
