import HeadgateData
import HeadgateTransport
import HeadgateWire

/// A daemon for tests: it speaks the protocol over a real Unix socket, keeps what it is told to track in memory, and
/// does to each request what its script says. It can be killed and started again; what it stored stays.
public actor ScriptedDaemon {
    /// Decides what becomes of each request but `hello`.
    public typealias Script = @Sendable (ScriptedRequest) -> Reaction

    /// The path of its socket.
    public nonisolated let path: String

    private nonisolated let loop: EventLoop
    private let script: Script
    private lazy var stage = Stage(path: path, on: loop, script: script)

    /// A daemon that does not listen yet.
    public init(path: String, script: @escaping Script = { _ in .answer }) throws {
        self.path = path
        self.script = script
        loop = try EventLoop.onNewThread(named: "scripted-daemon")
    }

    deinit {
        loop.stop()
    }

    /// The daemon's thread, on which the actor lives.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// What has happened to it.
    public var record: ScriptedRecord {
        stage.record
    }

    /// Listens, the first time or again.
    public func start() throws {
        try stage.listen()
    }

    /// Breaks all connections and listens no more, as if it had been killed.
    public func kill() async {
        await withCheckedContinuation { continuation in
            stage.kill { continuation.resume() }
        }
    }

    /// Follows another script from now on.
    public func follow(_ script: @escaping Script) {
        stage.script = script
    }

    /// Answers a method with this result, if the script says that it is answered.
    public func answer(_ method: String, with result: DataObject) {
        stage.results[method] = result
    }

    /// Tells these limits in its answer to `hello`.
    public func greet(withLimits limits: DataObject) {
        stage.greeting["limits"] = .object(limits)
    }

    /// Refuses the next `hello`; without its id if `anonymously`.
    public func refuseNextGreeting(_ error: RPCError, anonymously: Bool = false) {
        stage.refusedGreetings.append((error, anonymously))
    }

    /// Answers what was held, the last first if `reversed`.
    public func release(reversed: Bool = false) {
        stage.release(reversed: reversed)
    }

    /// Writes a line to every connection.
    public func tellAll(_ line: String) {
        stage.tellAll(line)
    }

    /// Waits until a condition holds; it is looked at after every request and connection.
    public func wait(until condition: @escaping @Sendable (ScriptedRecord) -> Bool) async {
        guard !condition(stage.record) else { return }
        await withCheckedContinuation { continuation in
            stage.watches.append((condition, { continuation.resume() }))
        }
    }
}

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

/// What a ``ScriptedDaemon`` does with a request.
public enum Reaction: Sendable {
    /// Does what is asked and answers it.
    case answer
    /// Does what is asked, and answers when `release` says so.
    case hold
    /// Does what is asked, and closes the connection in place of an answer.
    case doAndBreak
    /// Does what is asked, and closes the connection in the middle of the answer.
    case breakInAnswer
    /// Closes the connection and does nothing.
    case breakOff
    /// Answers with an error and does nothing.
    case refuse(RPCError)
    /// Does nothing, and writes this line.
    case write(String)
    /// Does nothing, and never answers.
    case ignore
}

/// A request that a ``ScriptedDaemon`` got.
public struct ScriptedRequest: Sendable {
    /// Its place among all requests but `hello`, from 1 on, over all connections.
    public let number: Int
    /// The place of its connection among all, from 1 on.
    public let connection: Int
    /// The method's name.
    public let method: String
    /// The params; empty if there are none.
    public let params: DataObject
}

/// What has happened to a ``ScriptedDaemon``.
public struct ScriptedRecord: Sendable {
    /// The ids of the events that it stored, each once, in their order.
    public internal(set) var stored: [String] = []
    /// How many events came that it had stored already.
    public internal(set) var duplicates = 0
    /// The requests that it got, without `hello`.
    public internal(set) var requests: [ScriptedRequest] = []
    /// The params of each `hello`.
    public internal(set) var greetings: [DataObject] = []
    /// How many connections there have been.
    public internal(set) var connections = 0
    /// How many connections have ended, not by `kill`.
    public internal(set) var departures = 0
    /// The errors that it got as answers to what `tellAll` asked: id and message.
    public internal(set) var answers: [String] = []
    /// The results that it got as answers to what `tellAll` asked: id and JSON.
    public internal(set) var results: [String] = []
    /// How many answers it holds back.
    public internal(set) var held = 0
}
