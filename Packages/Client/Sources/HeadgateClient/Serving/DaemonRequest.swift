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

    /// Answers with an error. A message of more than 8 KiB is cut.
    public func fail(_ error: RPCError) {
        let error = error.cut(to: DaemonRequest.longestMessage)
        finish { id, writer in writer.errorAnswer(id: id, error: error) }
    }

    private static let longestMessage = 8 << 10

    private func finish(_ write: (UnsafeRawBufferPointer, inout JSONWriter) -> Void) {
        guard !isAnswered else { return }
        isAnswered = true
        guard let link else { return }
        link.write(line(write))
        connection?.answered(on: link)
    }

    /// The answer as a line. One beyond the daemon's limits is replaced by an error: the daemon would refuse it without saying
    /// which request it answers.
    private func line(_ write: (UnsafeRawBufferPointer, inout JSONWriter) -> Void) -> [UInt8] {
        let limits = connection?.limits ?? DaemonLimits()
        let line = text(write)
        guard let fault = limits.fault(of: OutgoingCall(line: line, isRepeatable: false)) else { return line }
        let error = RPCError.internalError("the answer is left out: \(fault.message)")
        return text { $1.errorAnswer(id: $0, error: error) }
    }

    private func text(_ write: (UnsafeRawBufferPointer, inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        id.withUnsafeBytes { write($0, &writer) }
        writer.endLine()
        return writer.bytes
    }

    /// True if what the daemon asks for is to be done: the connection on which it asked is still there, and the client is not
    /// being closed.
    var isWanted: Bool {
        guard let link, let connection else { return false }
        return connection.wantsWork(of: link)
    }

    /// Leaves it without an answer: the daemon asks again, or somebody else.
    func drop() {
        guard !isAnswered else { return }
        isAnswered = true
        if let link { connection?.answered(on: link) }
    }
}

/// What is told of work or a board that a task serves, besides what there is to do.
public enum ServingNews: Sendable, Equatable {
    /// The daemon knows of it, for the first time or again.
    case began
    /// The connection is gone, for this reason. The next one is looked for.
    case interrupted(ClientError)
}

/// What the daemon asks a task to do, on its way from the connection to that task.
struct ServingQueue<Job: Sendable>: Sendable {
    /// A thing to do, and the request that is to be answered for it.
    // Unchecked: the request is touched on the client's actor only.
    struct Ticket: @unchecked Sendable {
        let job: Job
        let request: DaemonRequest
    }

    /// What there is to do; ends when nothing more comes.
    let tickets: AsyncThrowingStream<Ticket, any Error>
    private let tell: AsyncThrowingStream<Ticket, any Error>.Continuation

    init() {
        (tickets, tell) = AsyncThrowingStream.makeStream()
    }

    /// Passes on a thing to do; a task that has gone meanwhile gives it back.
    func put(_ job: Job, _ request: DaemonRequest) {
        guard case .terminated = tell.yield(Ticket(job: job, request: request)) else { return }
        request.giveBack("this side is ending")
    }

    func finish(_ error: any Error) {
        tell.finish(throwing: error)
    }
}

extension RPCError {
    /// The same error with at most so many bytes of its message.
    fileprivate func cut(to most: Int) -> RPCError {
        guard message.utf8.count > most else { return self }
        var cut = message
        var end = cut.utf8.index(cut.startIndex, offsetBy: most)
        while end > cut.startIndex, String.Index(end, within: cut.unicodeScalars) == nil {
            end = cut.utf8.index(before: end)
        }
        cut = String(cut[..<end]) + "…"
        return RPCError(code: code, message: cut, data: data)
    }
}
