import HeadgateData
import HeadgateWire

/// The connection that passes on requests of the daemon, as the requests see it.
protocol DaemonRequestOwner: AnyObject {
    /// The limits of the daemon's `hello`.
    var limits: DaemonLimits { get }
    /// Records that a request has been answered, or never will be.
    func answered(on link: Link)
    /// Returns true if work from a link should be done: its connection is the present one, and the client is not being
    /// closed.
    func wantsWork(of link: Link) -> Bool
}

/// A request of the daemon (Protocol, Server to client). Answer it once, now or later. Further answers, and answers
/// on a lost connection, are ignored.
public final class DaemonRequest {
    private weak var connection: (any DaemonRequestOwner)?
    private weak var link: Link?
    private let id: [UInt8]
    private var isAnswered = false

    init(id: [UInt8], on link: Link, of connection: any DaemonRequestOwner) {
        self.id = id
        self.link = link
        self.connection = connection
    }

    /// Answers with a result, an object.
    public func answer(_ result: DataObject = [:]) {
        finish { id, writer in writer.answer(id: id, result: result) }
    }

    /// Answers with an error. The client cuts a message of more than 8 KiB.
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

    /// Returns the answer as a line. An error replaces an answer beyond the daemon's limits, since the daemon would
    /// refuse that answer without the request's id.
    private func line(_ write: (UnsafeRawBufferPointer, inout JSONWriter) -> Void) -> [UInt8] {
        let limits = connection?.limits ?? DaemonLimits()
        let line = text(write)
        guard let fault = limits.fault(of: OutgoingCall(line: line, isRepeatable: false)) else { return line }
        let error = RPCError.internalError("the answer could not be sent: \(fault.message)")
        return text { $1.errorAnswer(id: $0, error: error) }
    }

    private func text(_ write: (UnsafeRawBufferPointer, inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        id.withUnsafeBytes { write($0, &writer) }
        writer.endLine()
        return writer.bytes
    }

    /// True if the work should be done: the connection of the request is the present one, and the client is not being
    /// closed.
    var isAwaited: Bool {
        guard let link, let connection else { return false }
        return connection.wantsWork(of: link)
    }

    /// Leaves the request without an answer. The daemon asks again, or asks another client.
    func drop() {
        guard !isAnswered else { return }
        isAnswered = true
        if let link { connection?.answered(on: link) }
    }
}

/// Reports about a subscription or a board that a task serves.
public enum ServingNews: Sendable, Equatable {
    /// The daemon has it, for the first time or again.
    case began
    /// The connection is lost for this reason. It begins again on the next connection.
    case interrupted(ClientError)
}

/// The requests of the daemon that a task should handle.
struct ServingQueue<Job: Sendable>: Sendable {
    /// A job, and the request to answer for it.
    // Unchecked: only the client's actor uses the request.
    struct Ticket: @unchecked Sendable {
        let job: Job
        let request: DaemonRequest
    }

    /// The jobs. Ends when no more come.
    let tickets: AsyncThrowingStream<Ticket, any Error>
    private let continuation: AsyncThrowingStream<Ticket, any Error>.Continuation

    init() {
        (tickets, continuation) = AsyncThrowingStream.makeStream()
    }

    /// Adds a job. If the task has ended, the job is given back.
    func put(_ job: Job, _ request: DaemonRequest) {
        guard case .terminated = continuation.yield(Ticket(job: job, request: request)) else { return }
        request.giveBack("the client is closing")
    }

    func finish(_ error: any Error) {
        continuation.finish(throwing: error)
    }
}

extension RPCError {
    /// Returns the error with at most this number of bytes of its message.
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
