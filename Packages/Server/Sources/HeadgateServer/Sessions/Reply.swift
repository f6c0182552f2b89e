import HeadgateData
import HeadgateWire

/// What one call leads to: the answer that is owed for a request; of a notification nothing is owed, and only failures
/// count. Until it is done the call is in its session's account, answered or not (Behaviour X2).
final class Reply {
    /// Strong: an answer is owed for a moment, and weak references would slow down every use of a session. Nil once it is
    /// done. A session whose client is gone ends all its replies, so that none keeps it.
    private var session: Session?
    /// Nil for a notification.
    private let id: [UInt8]?
    private var batch: BatchReply?
    private let requestBytes: Int
    /// Its place among the session's replies that wait (``WaitingReplies``).
    var place: Int?

    /// - Parameters:
    ///   - id: the request's id in JSON; nil for a notification.
    ///   - batch: the batch that the message came in, if it came in one.
    ///   - requestBytes: the bytes of its line; none in a batch, which counts its own.
    init(to session: Session, id: [UInt8]?, batch: BatchReply?, requestBytes: Int) {
        self.session = session
        self.id = id
        self.batch = batch
        self.requestBytes = requestBytes
        batch?.begin()
        session.callBegan(bytes: requestBytes)
    }

    /// Whether it is neither answered nor given up.
    var isWaiting: Bool { session != nil }

    /// Answers with a result.
    func answer(_ write: (inout JSONWriter) -> Void) {
        finish { id, writer in id.withUnsafeBytes { writer.answer(id: $0, result: write) } }
    }

    /// Answers with an object.
    func answer(_ result: DataObject = [:]) {
        answer { $0.object(result) }
    }

    /// Answers with an error.
    func fail(_ error: RPCError) {
        if id == nil { session?.notificationFailed() }
        session?.note(error)
        finish { id, writer in id.withUnsafeBytes { writer.errorAnswer(id: $0, error: error) } }
    }

    /// Nobody is there any more to be answered. What it was about may go on.
    func giveUp() {
        finish { _, _ in }
    }

    private func finish(_ write: ([UInt8], inout JSONWriter) -> Void) {
        guard let session else { return }
        self.session = nil
        session.callAnswered(self)
        if let id, session.machine.isListening { send(id, write, to: session) }
        // First: once the last message is settled the connection may close.
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

/// The answers to a batch, which go out together in one line; none at all for notifications only.
final class BatchReply {
    private let session: Session
    /// The line so far, without its end.
    private var line: [UInt8] = []
    /// Bytes of the batch's own line.
    private let requestBytes: Int
    /// How many of its messages are not done, the reading of the batch itself being one.
    private var underWay = 1

    init(to session: Session, requestBytes: Int) {
        self.session = session
        self.requestBytes = requestBytes
        session.batchBegan(bytes: requestBytes)
    }

    /// Bytes of the answers so far.
    var byteCount: Int { line.count }

    /// One of its messages is being worked on.
    func begin() {
        underWay += 1
    }

    /// Adds an answer. It waits for the others.
    func add(_ answer: [UInt8]) {
        let before = line.count
        line.append(UInt8(ascii: line.isEmpty ? "[" : ","))
        line += answer
        session.batchKeeps(bytes: line.count - before)
    }

    /// One of its messages is done, or all have been handed on. Behind the last one the answers go out.
    func end() {
        underWay -= 1
        guard underWay == 0 else { return }
        let kept = line.count
        if !line.isEmpty { session.send(line + Array("]\n".utf8)) }
        line = []
        session.batchEnded(keptBytes: kept, requestBytes: requestBytes)
    }
}

/// The replies of one session that wait: for a flush to end, say, or a board.
struct WaitingReplies {
    private var replies: [Reply] = []

    var count: Int { replies.count }

    mutating func add(_ reply: Reply) {
        reply.place = replies.count
        replies.append(reply)
    }

    /// Takes out a reply, if it is among them. The last one takes its place: they have no order.
    mutating func remove(_ reply: Reply) {
        guard let place = reply.place else { return }
        reply.place = nil
        let last = replies.removeLast()
        guard last !== reply else { return }
        replies[place] = last
        last.place = place
    }

    /// Takes out all.
    mutating func takeAll() -> [Reply] {
        for reply in replies { reply.place = nil }
        defer { replies = [] }
        return replies
    }
}
