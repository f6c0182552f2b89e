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
