import HeadgateData
import HeadgateTransport
import HeadgateWire

/// An observer is told what happens on a link.
protocol LinkObserver: AnyObject {
    /// A message has come. It is gone after the call.
    func link(_ link: Link, received message: IncomingMessage)
    /// Something has come that is no line of the protocol.
    func link(_ link: Link, receivedNonsense text: String)
    /// The connection is gone, not by `close`.
    func linkDidEnd(_ link: Link)
}

/// A link is one connection to the daemon, in messages.
final class Link {
    private weak var observer: (any LinkObserver)?
    private let connection: any LinkConnection
    private let decoder = MessageDecoder(maxDepth: JSONScanner.greatestDepth)
    private var framer = LineFramer(maxLineBytes: Link.longestAnswer)

    /// Answers are as long as what they list; this only bounds what a stranger's socket can make us keep.
    private static let longestAnswer = 256 << 20

    init(over connection: any LinkConnection, observer: any LinkObserver) {
        self.connection = connection
        self.observer = observer
        connection.begin(self)
    }

    /// Writes bytes; those of one turn of the loop go out together.
    func write(_ bytes: [UInt8]) {
        connection.write(bytes)
    }

    /// Writes a message and ends its line.
    func write(message: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        message(&writer)
        writer.endLine()
        connection.write(writer.bytes)
    }

    /// Closes the connection. Nothing more is told of it.
    func close() {
        observer = nil
        connection.close()
    }

    /// Closes the connection once all that was written has gone out. Nothing more is told of it.
    func closeAfterFlush() {
        observer = nil
        connection.closeAfterFlush()
    }

    /// Bytes have come, behind which some readable ones stand, as ``ConnectionHandler`` says.
    func took(_ bytes: UnsafeRawBufferPointer) {
        framer.lend(bytes)
        while observer != nil, let line = framer.next() { take(line) }
        framer.keepRest()
    }

    /// Nothing more comes. Half a line at the end is nothing: its writer broke off.
    func end() {
        let observer = self.observer
        close()
        observer?.linkDidEnd(self)
    }

    private func take(_ line: LineFramer.Line) {
        guard case .text(let text) = line else {
            observer?.link(self, receivedNonsense: "a line of more than \(Link.longestAnswer) bytes")
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
