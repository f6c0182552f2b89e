import HeadgateData
import HeadgateWire

/// The reply to one call. A request gets an answer. A notification gets none, but its failure is counted. The session's
/// account includes the call until the reply is finished (Behaviour X2).
final class Reply {
    /// The session, or nil once the reply is finished. The reference is strong, because a weak one would slow down
    /// every use of a session. A closed session finishes all its replies, so that none retains it.
    private var session: Session?
    /// The request's ID in JSON, or nil for a notification.
    private let id: [UInt8]?
    private var batch: BatchReply?
    private let requestBytes: Int
    /// Called once with the outcome of the call, or nil. It logs calls that change the service.
    var onEnd: ((Operation.Outcome) -> Void)?
    /// The index of the reply in ``WaitingReplies``, or nil if it is not there.
    var index: Int?

    /// Begins a call.
    /// - Parameters:
    ///   - id: the request's ID in JSON, or nil for a notification.
    ///   - batch: the JSON-RPC batch that contains the message, or nil.
    ///   - requestBytes: the size of the message's line. It is 0 in a batch, which counts its own line.
    init(to session: Session, id: [UInt8]?, batch: BatchReply?, requestBytes: Int) {
        self.session = session
        self.id = id
        self.batch = batch
        self.requestBytes = requestBytes
        batch?.begin()
        session.callBegan(bytes: requestBytes)
    }

    /// A Boolean value that says whether the reply is neither sent nor cancelled.
    var isWaiting: Bool { session != nil }

    /// Answers with a result.
    func answer(_ write: (inout JSONWriter) -> Void) {
        end(.done)
        finish { id, writer in id.withUnsafeBytes { writer.answer(id: $0, result: write) } }
    }

    /// Answers with a value of a shape.
    func answer<Value>(_ shape: OutputShape<Value>, _ value: Value) {
        answer { shape.write(value, &$0) }
    }

    /// Answers with an object.
    func answer(_ result: DataObject = [:]) {
        answer { $0.object(result) }
    }

    /// Answers with an error.
    func fail(_ error: RPCError) {
        if id == nil { session?.notificationFailed() }
        session?.note(error)
        end(.failed(error))
        finish { id, writer in id.withUnsafeBytes { writer.errorAnswer(id: $0, error: error) } }
    }

    /// Cancels the reply, because the client has disconnected. The work of the call may go on.
    func disconnected() {
        end(.disconnected)
        finish { _, _ in }
    }

    private func end(_ outcome: Operation.Outcome) {
        let onEnd = onEnd
        self.onEnd = nil
        onEnd?(outcome)
    }

    private func finish(_ write: ([UInt8], inout JSONWriter) -> Void) {
        guard let session else { return }
        self.session = nil
        session.callAnswered(self)
        if let id, session.machine.isListening { send(id, write, to: session) }
        // The batch ends before the call: after the last call the connection may close.
        batch?.end()
        batch = nil
        session.callEnded(bytes: requestBytes)
    }

    private func send(_ id: [UInt8], _ write: ([UInt8], inout JSONWriter) -> Void, to session: Session) {
        var writer = JSONWriter()
        write(id, &writer)
        session.spend(answer: writer.bytes.count)
        if let batch { return batch.add(writer.bytes) }
        writer.endLine()
        session.send(writer.bytes)
    }
}

/// The answers to a JSON-RPC batch, which are sent together in one line. A batch of only notifications gets no answer.
final class BatchReply {
    private let session: Session
    /// The line so far, without the line end.
    private var line: [UInt8] = []
    /// The size of the batch's own line, in bytes.
    private let requestBytes: Int
    /// The number of unfinished messages, plus one until all messages are read.
    private var unfinished = 1

    init(to session: Session, requestBytes: Int) {
        self.session = session
        self.requestBytes = requestBytes
        session.batchBegan(bytes: requestBytes)
    }

    /// The size of the answers so far, in bytes.
    var byteCount: Int { line.count }

    /// Begins a message.
    func begin() {
        unfinished += 1
    }

    /// Adds an answer, which is sent with the others.
    func add(_ answer: [UInt8]) {
        let before = line.count
        line.append(UInt8(ascii: line.isEmpty ? "[" : ","))
        line += answer
        session.batchKeeps(bytes: line.count - before)
    }

    /// Ends a message, or the reading of the batch. The last end sends the answers.
    func end() {
        unfinished -= 1
        guard unfinished == 0 else { return }
        let kept = line.count
        if !line.isEmpty { session.send(line + Array("]\n".utf8)) }
        line = []
        session.batchEnded(keptBytes: kept, requestBytes: requestBytes)
    }
}

/// The replies of one session that wait for something, like the end of a flush or a board.
struct WaitingReplies {
    private var replies: [Reply] = []

    var count: Int { replies.count }

    mutating func add(_ reply: Reply) {
        reply.index = replies.count
        replies.append(reply)
    }

    /// Removes a reply, if it is there. The last reply moves to its index, because they have no order.
    mutating func remove(_ reply: Reply) {
        guard let index = reply.index else { return }
        reply.index = nil
        let last = replies.removeLast()
        guard last !== reply else { return }
        replies[index] = last
        last.index = index
    }

    /// Removes and returns all replies.
    mutating func takeAll() -> [Reply] {
        for reply in replies { reply.index = nil }
        defer { replies = [] }
        return replies
    }
}
