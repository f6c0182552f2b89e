import Foundation
import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import HeadgateTransport

@testable import HeadgateServer

/// A complete service in a temporary folder, on a real event loop, with clients over a real socket.
///
///     try await ServiceStage.run { stage in
///         let client = try await stage.client("shop/2.1")
///         try await client.call("track", ["event": "signup"])
///     }
actor ServiceStage {
    nonisolated let folder: ScratchFolder
    private nonisolated let loop: EventLoop
    private nonisolated let clientLoop: EventLoop
    private var service: Service?
    /// The manual scheduler, or nil if time passes by itself.
    private var stillScheduler: StillScheduler?

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// The default settings: two dispatchers of kind `file`, and a store in memory. Pending batches do not delay the
    /// end of a test.
    static let defaultSettings: DataObject = [
        "durability": "memory", "shutdown_timeout_ms": 0,
        // On a busy machine a test's client may read slowly, and must not be disconnected for it.
        "limits": ["slow_reader_timeout_ms": 3_600_000],
        "dispatchers": [
            "archive": ["kind": "file", "path": "archive.ndjson"],
            "collect": ["kind": "file", "path": "collect.ndjson"],
        ],
    ]

    /// A function that adds an embedding program's parts (barriers, collectors, kinds) to a configuration.
    typealias Adding = @Sendable (inout ServerConfiguration) -> Void

    /// Runs `body` with a service that listens on its socket. Then stops the service in an orderly way.
    /// - Parameters:
    ///   - settings: settings that are merged into ``defaultSettings`` and written to the file `headgate.json`.
    ///   - timeStands: true if time passes only by ``advance(by:)``.
    ///   - adding: adds an embedding program's parts to the configuration.
    static func run(
        _ settings: DataObject = [:], timeStands: Bool = false, adding: Adding = { _ in },
        _ body: (ServiceStage) async throws -> Void
    ) async throws {
        let stage = try ServiceStage()
        do {
            try await stage.start(settings, timeStands, adding)
            try await body(stage)
        } catch {
            await stage.end()
            throw error
        }
        await stage.end()
    }

    private init() throws {
        folder = try ScratchFolder()
        loop = try EventLoop.onNewThread(named: "test-service")
        clientLoop = try EventLoop.onNewThread(named: "test-clients")
    }

    nonisolated var socket: String { folder("headgate.sock") }

    /// Connects a client. With a name like `shop/2.1` the client then calls `hello`.
    nonisolated func client(_ name: String? = nil) async throws -> LineClient {
        let client = LineClient(on: clientLoop)
        try await client.connect(to: socket)
        guard let name else { return client }
        let parts = name.split(separator: "/").map(String.init)
        var identity: DataObject = ["name": .string(parts[0])]
        if parts.count > 1 { identity["version"] = .string(parts[1]) }
        try await client.call("hello", ["client": .object(identity)])
        return client
    }

    /// Calls a closure with the service, on its loop.
    func inspect<Found: Sendable>(_ body: (Service) throws -> Found) throws -> Found {
        guard let service else { throw Missing(what: "a service") }
        return try body(service)
    }

    /// Advances a manual clock. All work that becomes due is done before this function returns, except work in later
    /// turns of the loop.
    func advance(by duration: Duration) throws {
        guard let stillScheduler else { throw Missing(what: "a manual clock") }
        stillScheduler.advance(by: duration)
    }

    private func start(
        _ settings: DataObject, _ timeStands: Bool, _ adding: (inout ServerConfiguration) -> Void
    ) throws {
        var text = JSONWriter()
        text.object(ServiceStage.defaultSettings.patched(with: settings))
        let file = try folder.write(text.text, to: "headgate.json")
        let options = DaemonOptions(configuration: file, socket: socket, dataDirectory: folder("data"))
        var configuration = ServerConfiguration(options: options, environment: [:], userID: getuid())
        adding(&configuration)
        if timeStands { stillScheduler = StillScheduler(loop: loop) }
        let service = try Service(
            loop: loop, configuration: configuration, loaded: try configuration.load(), scheduler: stillScheduler)
        self.service = service
        try service.listen()
    }

    private func end() async {
        await withCheckedContinuation { continuation in
            guard let service else { return continuation.resume() }
            service.stop { _ in continuation.resume() }
        }
        // Checks that a stopped service may be released before its loop has ended.
        service = nil
        stillScheduler = nil
        for loop in [loop, clientLoop] {
            loop.stop()
            await loop.waitUntilClosed()
        }
    }
}

/// The error that a prerequisite of a test is missing.
struct Missing: Error {
    var what: String
}

extension ServiceStage {
    /// Flushes all dispatchers. Returns the lines in the file of a dispatcher.
    nonisolated func lines(of dispatcher: String, after client: LineClient) async throws -> [String] {
        try await client.call("flush", ["wait": true])
        guard let bytes = FileManager.default.contents(atPath: folder("data/\(dispatcher).ndjson")) else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Flushes all dispatchers. Returns the events in the file of a dispatcher.
    nonisolated func events(of dispatcher: String, after client: LineClient) async throws -> [DataItem] {
        try await lines(of: dispatcher, after: client).map { try DataItem(parsing: Array($0.utf8)) }
    }
}

/// A scheduler on a real event loop with a manual clock. The loop handles I/O as usual, but no timer fires before the
/// test advances the clock, however slow the machine is.
final class StillScheduler: LoopScheduler {
    private let clock: ManualScheduler

    override init(loop: EventLoop) {
        clock = ManualScheduler(now: Instant(nanoseconds: loop.monotonicNow), wall: loop.wallNow)
        super.init(loop: loop)
    }

    override var now: Instant { clock.now }
    override var wall: Timestamp { clock.wall }

    /// Schedules work. Work that is already due runs on the loop, in a turn of its own.
    override func schedule(at deadline: Instant, _ work: @escaping () -> Void) -> any Disposable {
        deadline <= now ? super.schedule(at: super.now, work) : clock.schedule(at: deadline, work)
    }

    /// Advances the monotonic and the wall clock, and does all work that becomes due.
    func advance(by duration: Duration) {
        clock.advance(by: duration)
    }
}
