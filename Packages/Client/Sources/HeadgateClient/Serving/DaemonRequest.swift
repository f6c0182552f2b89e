import HeadgateData
import HeadgateWire

/// What the daemon asks of this client (Protocol, Server to client). It is answered once, now or later; further answers,
/// and those to a daemon that has gone meanwhile, go nowhere.
public final class DaemonRequest {
    private weak var connection: ClientConnection?
    private weak var link: Link?
    private let id: [UInt8]
    private var isAnswered = false

    init(id: [UInt8], on link: Link, of connection: ClientConnection) {
        self.id = id
        self.link = link
        self.connection = connection
    }

    /// Answers with a result, an object.
    public func answer(_ result: DataObject = [:]) {
        finish { id, writer in writer.answer(id: id, result: result) }
    }

    /// Answers with an error.
    public func fail(_ error: RPCError) {
        finish { id, writer in writer.errorAnswer(id: id, error: error) }
    }

    private func finish(_ write: (UnsafeRawBufferPointer, inout JSONWriter) -> Void) {
        guard !isAnswered else { return }
        isAnswered = true
        guard let link else { return }
        link.write { writer in id.withUnsafeBytes { write($0, &writer) } }
        connection?.answered(on: link)
    }
}
