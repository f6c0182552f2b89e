import Foundation
import HeadgateData
import HeadgateTransport
import HeadgateWire
import Synchronization
import Testing

@testable import HeadgateServer

/// Tests a server that is embedded in a program, without a socket. The program tracks events by function calls.
@Suite struct EmbeddedProgramTests {
    /// An embedded server on an event loop of its own, and the server's folder.
    private struct Program {
        let server: Server
        let folder: ScratchFolder
        let loop: EventLoop
        let lines = Lines()

        init() throws {
            folder = try ScratchFolder()
            loop = try EventLoop.onNewThread(named: "test-program")
            server = Server(on: loop)
        }

        func start(_ settings: DataObject = [:], opensSocket: Bool = false) async throws -> String? {
            let (folder, lines) = (folder, lines)
            return try await server.begin(in: folder, settings, opensSocket: opensSocket, lines)
        }

        func end() async {
            loop.stop()
            await loop.waitUntilClosed()
        }
    }

    fileprivate final class Lines: Sendable {
        private let lines = Mutex<[LoggedLine]>([])
        var all: [LoggedLine] { lines.withLock { $0 } }
        func add(_ line: LoggedLine) { lines.withLock { $0.append(line) } }
    }

    private static let file: DataObject = ["dispatchers": ["collect": ["kind": "file", "path": "events.ndjson"]]]

    @Test(
        "P1, D11: an embedded server without a socket stores the program's events, and sends all before it stops")
    func ownEvents() async throws {
        let program = try Program()
        let early = await #expect(throws: RPCError.self) { try await program.server.track("early") }
        #expect(try await program.start(Self.file) == nil)
        #expect(!FileManager.default.fileExists(atPath: program.folder("headgate.sock")))
        for number in 1...100 {
            let event = try await program.server.track(
                "tick", data: ["n": .number(DataNumber(number))], id: "e\(number)")
            #expect(event.id == "e\(number)" && !event.isDuplicate && event.sequenceNumber == UInt64(number))
        }
        #expect(try await program.server.track("tick", id: "e1").isDuplicate)
        #expect(await program.server.stop())
        let text = try String(contentsOfFile: program.folder("data/events.ndjson"), encoding: .utf8)
        let events = try text.split(separator: "\n").map { try DataItem(parsing: Array($0.utf8)) }
        #expect(events.count == 100)
        let late = await #expect(throws: RPCError.self) { try await program.server.track("late") }
        for error in [early, late] {
            #expect(error?.reason == .shuttingDown)
            #expect("\(try #require(error))" == "the server is not running")
        }
        await program.end()
    }

    @Test("P1: many tasks track events at once; refused events throw an error")
    func manyTasks() async throws {
        let program = try Program()
        _ = try await program.start([
            "dispatchers": ["collect": ["kind": "worker"]], "store": ["max_events": 500],
            "limits": ["max_unanswered": 10],
        ])
        let server = program.server
        let stored = await withTaskGroup(of: Bool.self) { group in
            for number in 1...700 {
                group.addTask { (try? await server.track("x", id: "e\(number)")) != nil }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(stored == 500)
        await #expect(throws: RPCError.self) { try await server.track("") }
        #expect(await server.stop())
        await program.end()
    }

    @Test("X2: a program's event beyond the limit of connections is refused, and later events are stored")
    func tooManyConnections() async throws {
        let program = try Program()
        _ = try await program.start(["limits": ["max_connections_per_uid": 1]], opensSocket: true)
        let client = LineClient(on: program.loop)
        try await client.connect(to: program.folder("headgate.sock"))
        try await client.call("ping")
        for _ in 1...2 {
            let refusal = await #expect(throws: RPCError.self) { try await program.server.track("early") }
            #expect(refusal?.reason == .limit)
        }
        await client.close()
        while (try? await program.server.track("late")) == nil { await Task.yield() }
        #expect(await program.server.stop())
        await program.end()
    }

    @Test("O4: log lines go to the function that the program has set")
    func log() async throws {
        let program = try Program()
        _ = try await program.start([
            "durability": "memory", "lenient": true,
            "load_rules": ["unused": ["operator": "is_defined", "path": "event"]],
        ])
        await program.server.reload()
        let kinds = program.lines.all.map(\.kind)
        #expect(kinds.contains("settings_read"))
        #expect(program.lines.all.allSatisfy { !$0.message.isEmpty && $0.times == 1 })
        #expect(await program.server.stop())
        await program.end()
    }
}

extension Server {
    fileprivate func begin(
        in folder: ScratchFolder, _ settings: DataObject, opensSocket: Bool, _ lines: EmbeddedProgramTests.Lines
    ) throws -> String? {
        let options = DaemonOptions(socket: folder("headgate.sock"), dataDirectory: folder("data"))
        var configuration = ServerConfiguration(options: options, environment: [:], userID: 0)
        configuration.settings = settings
        configuration.opensSocket = opensSocket
        configuration.onLog = { lines.add($0) }
        return try start(configuration)
    }
}
