import HeadgateData
import HeadgateTransport
import HeadgateWire

/// A daemon for tests. It speaks the protocol over a Unix socket, keeps tracked events in memory, and treats each
/// request as its script says. A test can kill it and start it again; it keeps its events.
public actor ScriptedDaemon {
    /// Decides how the daemon treats each request except `hello`.
    public typealias Script = @Sendable (ScriptedRequest) -> Reaction

    /// The path of its socket.
    public nonisolated let path: String

    private nonisolated let loop: EventLoop
    private let script: Script
    private lazy var stage = Stage(path: path, on: loop, script: script)

    /// Creates a daemon that does not listen yet.
    public init(path: String, script: @escaping Script = { _ in .answer }) throws {
        self.path = path
        self.script = script
        loop = try EventLoop.onNewThread(named: "scripted-daemon")
    }

    deinit {
        loop.stop()
    }

    /// The daemon's thread, which runs the actor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// The requests, the events and the connections so far.
    public var record: ScriptedRecord {
        stage.record
    }

    /// Listens, for the first time or again.
    public func start() throws {
        try stage.listen()
    }

    /// Breaks all connections and stops listening, as if the daemon were killed.
    public func kill() async {
        await withCheckedContinuation { continuation in
            stage.kill { continuation.resume() }
        }
    }

    /// Replaces the script.
    public func follow(_ script: @escaping Script) {
        stage.script = script
    }

    /// Sets the result of a method, for requests that the script has answered.
    public func answer(_ method: String, with result: DataObject) {
        stage.results[method] = result
    }

    /// Reports these limits in the answer to `hello`.
    public func greet(withLimits limits: DataObject) {
        stage.greeting["limits"] = .object(limits)
    }

    /// Refuses the next `hello`, without its id if `anonymously` is true.
    public func refuseNextGreeting(_ error: RPCError, anonymously: Bool = false) {
        stage.refusedGreetings.append((error, anonymously))
    }

    /// Writes the held answers, the last one first if `reversed` is true.
    public func release(reversed: Bool = false) {
        stage.release(reversed: reversed)
    }

    /// Writes a line to every connection.
    public func sendToAll(_ line: String) {
        stage.sendToAll(line)
    }

    /// Waits until a condition holds. The daemon evaluates it after every request and connection.
    public func wait(until condition: @escaping @Sendable (ScriptedRecord) -> Bool) async {
        guard !condition(stage.record) else { return }
        await withCheckedContinuation { continuation in
            stage.watches.append((condition, { continuation.resume() }))
        }
    }
}

/// The connection of one client.
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

    /// Stops reading, and closes the connection when everything is written.
    func closeAfterFlush() {
        isDone = true
        connection.closeAfterFlush()
    }

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        framer.borrow(bytes)
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

/// The treatment of a request by a ``ScriptedDaemon``.
public enum Reaction: Sendable {
    /// Carries out the request, and answers.
    case answer
    /// Carries out the request, and holds the answer until `release`.
    case hold
    /// Does what the request asks for, and closes the connection without an answer.
    case doAndBreak
    /// Does what the request asks for, and closes the connection in the middle of the answer.
    case breakInAnswer
    /// Does nothing, and closes the connection.
    case breakOff
    /// Does nothing, and answers with an error.
    case refuse(RPCError)
    /// Does nothing, and writes this line.
    case write(String)
    /// Does nothing, and never answers.
    case ignore
}

/// A request to a ``ScriptedDaemon``.
public struct ScriptedRequest: Sendable {
    /// The number of the request, from 1 on, over all connections and without `hello`.
    public let number: Int
    /// The number of the connection, from 1 on.
    public let connection: Int
    /// The method's name.
    public let method: String
    /// The params, empty if there are none.
    public let params: DataObject
}

/// The requests, the events and the connections of a ``ScriptedDaemon``.
public struct ScriptedRecord: Sendable {
    /// The ids of the stored events, each once and in order.
    public internal(set) var stored: [String] = []
    /// The number of events that were stored before.
    public internal(set) var duplicates = 0
    /// The requests, without `hello`.
    public internal(set) var requests: [ScriptedRequest] = []
    /// The params of each `hello`.
    public internal(set) var greetings: [DataObject] = []
    /// The number of connections.
    public internal(set) var connections = 0
    /// The number of connections that ended, except by `kill`.
    public internal(set) var departures = 0
    /// The errors in answers to requests of `tellAll`, as id and message.
    public internal(set) var answers: [String] = []
    /// The results in answers to requests of `tellAll`, as id and JSON.
    public internal(set) var results: [String] = []
    /// The number of held answers.
    public internal(set) var held = 0
}
