import Foundation
import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import HeadgateTransport

@testable import HeadgateServer

/// A whole service in a folder of its own, on a real loop, with clients over its real socket.
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
    /// Where time comes from when it stands still.
    private var stillScheduler: StillScheduler?

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// Two dispatchers of kind `file`, and a store in memory. What a test leaves on its way holds up its end by nothing.
    static let usualSettings: DataObject = [
        "durability": "memory", "shutdown_timeout_ms": 0,
        // Who reads slowly in a test may do so for as long as a busy machine takes.
        "limits": ["slow_reader_timeout_ms": 3_600_000],
        "dispatchers": [
            "archive": ["kind": "file", "path": "archive.ndjson"],
            "collect": ["kind": "file", "path": "collect.ndjson"],
        ],
    ]

    /// Adds to a configuration what a program brings.
    typealias Adding = @Sendable (inout ServerConfiguration) -> Void

    /// Runs `body` with a service that listens, and stops it in an orderly way afterwards.
    /// - Parameters:
    ///   - settings: merged into ``usualSettings``, and with them in the file `headgate.json`.
    ///   - timeStands: whether time passes by ``advance(by:)`` alone.
    ///   - adding: what a program adds to them.
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

    /// A connected client; with a name like `shop/2.1` it says hello first.
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

    /// Looks into the service, on its loop.
    func look<Found: Sendable>(_ body: (Service) throws -> Found) throws -> Found {
        guard let service else { throw Missing(what: "a service") }
        return try body(service)
    }

    /// Lets time pass, where it stands still otherwise: what is due is done before this returns, but for what it leads to in
    /// later turns.
    func advance(by duration: Duration) throws {
        guard let stillScheduler else { throw Missing(what: "a clock that stands still") }
        stillScheduler.advance(by: duration)
    }

    private func start(
        _ settings: DataObject, _ timeStands: Bool, _ adding: (inout ServerConfiguration) -> Void
    ) throws {
        var text = JSONWriter()
        text.object(ServiceStage.usualSettings.patched(with: settings))
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
        // A program may let go of a stopped server before its loop has ended.
        service = nil
        stillScheduler = nil
        for loop in [loop, clientLoop] {
            loop.stop()
            await loop.waitUntilClosed()
        }
    }
}

/// What a test needed was not there.
struct Missing: Error {
    var what: String
}

extension ServiceStage {
    /// Flushes, and gives back the lines that a dispatcher of kind `file` has written then.
    nonisolated func lines(of dispatcher: String, after client: LineClient) async throws -> [String] {
        try await client.call("flush", ["wait": true])
        guard let bytes = FileManager.default.contents(atPath: folder("data/\(dispatcher).ndjson")) else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The same, read.
    nonisolated func events(of dispatcher: String, after client: LineClient) async throws -> [DataItem] {
        try await lines(of: dispatcher, after: client).map { try DataItem(parsing: Array($0.utf8)) }
    }
}

/// A scheduler on a real loop whose time stands still until a test moves it: messages come and go, and nothing is over
/// before the test says so, however slow the machine.
final class StillScheduler: LoopScheduler {
    private let clock: ManualScheduler

    override init(loop: EventLoop) {
        clock = ManualScheduler(now: Instant(nanoseconds: loop.monotonicNow), wall: loop.wallNow)
        super.init(loop: loop)
    }

    override var now: Instant { clock.now }
    override var wall: Timestamp { clock.wall }

    /// What is due already is done by the loop, in a turn of its own.
    override func schedule(at deadline: Instant, _ work: @escaping () -> Void) -> any Disposable {
        deadline <= now ? super.schedule(at: super.now, work) : clock.schedule(at: deadline, work)
    }

    /// Moves the clocks on, and does all that is due by then.
    func advance(by duration: Duration) {
        clock.advance(by: duration)
    }
}
