import HeadgateData
import HeadgateWire

/// The answer to one request that is owed to a session; for notifications nothing is owed, and only failures count.
final class Reply {
    /// Where the answer goes.
    private enum Target {
        case session
        case batch(BatchReply)
    }

    /// Strong: an answer is owed for a moment, and weak references would slow down every use of a session.
    private let session: Session
    private let id: [UInt8]?
    private let target: Target
    private let requestBytes: Int
    private var isDone = false

    /// - Parameters:
    ///   - id: the request's id in JSON; nil for a notification.
    ///   - batch: the batch that the request came in, if it came in one.
    init(to session: Session, id: [UInt8]?, batch: BatchReply? = nil, requestBytes: Int = 0) {
        self.session = session
        self.id = id
        self.requestBytes = requestBytes
        target = batch.map(Target.batch) ?? .session
        if id != nil { batch?.expect() }
    }

    /// Whether anybody waits for it: not behind a notification.
    var isExpected: Bool { id != nil }

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
        if id == nil { session.notificationFailed() }
        session.note(error)
        finish { id, writer in id.withUnsafeBytes { writer.errorAnswer(id: $0, error: error) } }
    }

    private func finish(_ write: ([UInt8], inout JSONWriter) -> Void) {
        guard !isDone else { return }
        isDone = true
        guard let id else { return }
        var writer = JSONWriter()
        write(id, &writer)
        session.share.spend(answer: writer.bytes.count)
        switch target {
        case .session:
            writer.endLine()
            session.send(writer.bytes)
        case .batch(let batch):
            batch.add(writer.bytes)
        }
        session.answered(1, bytes: requestBytes)
    }
}

/// The answers to a batch, which go out together in one line; none at all for notifications only.
final class BatchReply {
    private let session: Session
    private var answers: [[UInt8]] = []
    /// Bytes of the answers so far.
    private(set) var byteCount = 0
    private var expected = 0
    private var isWhole = false

    init(to session: Session) {
        self.session = session
    }

    func expect() {
        expected += 1
    }

    func add(_ answer: [UInt8]) {
        answers.append(answer)
        byteCount += answer.count
        sendIfComplete()
    }

    /// All messages of the batch have been handled.
    func close() {
        isWhole = true
        sendIfComplete()
    }

    private func sendIfComplete() {
        guard isWhole, answers.count == expected, expected > 0 else { return }
        session.send(Array("[".utf8) + Array(answers.joined(separator: [UInt8(ascii: ",")])) + Array("]\n".utf8))
    }
}
