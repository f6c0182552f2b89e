import Dispatch
import Glibc
import HeadgateTransport
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

/// Tests the reading of files that requests need (header values, certificates), which has a thread of its own.
@Suite("http dispatcher: reading files", .timeLimit(.minutes(5)))
struct HTTPFileTests {
    private static let headers = [HTTPSettings.Header(name: "X-Key", value: .file("/secret"))]
    private static let late = SendResult.noAnswer(cause: "the files for headers and TLS could not be read in time")

    /// Returns settings with timeouts that are longer than the test.
    private static func patient(_ endpoint: String) -> HTTPSettings {
        HTTPSettings(endpoint: endpoint, headers: headers, timeout: .seconds(86_400), connectTimeout: .seconds(86_400))
    }

    @Test("K1: reading a file on a disk that hangs times out, and does not block the event loop")
    func hangs() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let disk = HangingDisk()
        let settings = HTTPSettings(endpoint: server.url, headers: Self.headers, connectTimeout: .milliseconds(50))
        try await SenderStage.http(settings, reader: disk.reader) { stage in
            #expect(await stage.send("{}") == Self.late)
            // The loop is not blocked, and no second read starts beside the first.
            #expect(await stage.send("{}") == Self.late)
            #expect(disk.reads <= 1)
            disk.recover()
            #expect(await stage.sendUntilItArrives("{}"))
        }
        #expect(server.requests.allSatisfy { $0.headers["x-key"] == "s3cret" })
    }

    @Test("D11: interrupting ends a batch that waits for its files; the batch is not sent when they have been read")
    func interrupted() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let disk = HangingDisk()
        try await SenderStage.http(Self.patient(server.url), reader: disk.reader) { stage in
            let result = await stage.sendAndInterrupt("{\"a\":1}")
            #expect(result == .interrupted)
            disk.recover()
            #expect(await stage.send("{\"b\":2}") == .delivered)
        }
        #expect(server.requests.map(\.text) == ["[{\"b\":2}]"])
    }

    @Test("D11: a sender may be closed while it waits for its files")
    func closed() async throws {
        let disk = HangingDisk()
        try await SenderStage.http(Self.patient("http://127.0.0.1:1/"), reader: disk.reader) {
            await $0.start("{}") { _ in Issue.record("a closed sender reported a result") }
        }
        disk.recover()
    }

    @Test("K1: batches that wait for a file are sent in order, and each request has the file's present content")
    func order() async throws {
        let folder = try ScratchFolder()
        let path = try folder.write("one", to: "key")
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let headers = [HTTPSettings.Header(name: "X-Key", value: .file(path))]
        try await SenderStage.http(HTTPSettings(endpoint: server.url, headers: headers)) { stage in
            let results = await stage.sendTogether((1...20).map { ["{\"n\":\($0)}"] })
            #expect(results == Array(repeating: .delivered, count: 20))
            try folder.write("two", to: "key")
            #expect(await stage.send("{}") == .delivered)
        }
        #expect(server.requests.map { $0.headers["x-key"] } == Array(repeating: "one", count: 20) + ["two"])
    }

    @Test(
        "K1: a named pipe in the place of a file is refused, and does not block the event loop",
        arguments: ["ca", "cert", "key", "header"])
    func pipe(which: String) async throws {
        let folder = try ScratchFolder()
        let pipe = folder("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        let whole = try folder.write("x", to: "file")
        var settings = HTTPSettings(endpoint: "https://127.0.0.1:1/")
        switch which {
        case "ca": settings.tls.caFile = pipe
        case "cert": settings.tls.certFile = pipe
        case "key": (settings.tls.certFile, settings.tls.keyFile) = (whole, pipe)
        default: settings.headers = [HTTPSettings.Header(name: "X-Key", value: .file(pipe))]
        }
        let causes = ["ca": "TLS: CA file not usable", "header": "header X-Key: file not readable"]
        try await SenderStage.http(settings) { stage in
            let cause = causes[which] ?? "TLS: client certificate or key not usable"
            #expect(await stage.send("{}") == .noAnswer(cause: cause))
        }
    }

    @Test("K1: a file is read completely if it is within the limit, and not at all if it is larger")
    func sizes() throws {
        let folder = try ScratchFolder()
        for size in [0, 1, 16_384, 16_385, 40_000] {
            let path = try folder.write(String(repeating: "x", count: size), to: "file")
            #expect(SmallFile(path).contents(upTo: size)?.count == size)
            if size > 0 { #expect(SmallFile(path).contents(upTo: size - 1) == nil) }
        }
    }
}

/// A file reader whose reads block until ``recover()``.
private final class HangingDisk: Sendable {
    private let state = Guarded((begun: 0, isWell: false))
    private let recovery = DispatchSemaphore(value: 0)

    var reads: Int { state.withLock { $0.begun } }

    var reader: RequestFiles.Reader {
        { [self] _, _ in
            let isWell = state.withLock { state in
                state.begun += 1
                return state.isWell
            }
            if !isWell { wait() }
            return Array("s3cret".utf8)
        }
    }

    func recover() {
        state.withLock { $0.isWell = true }
        recovery.signal()
    }

    /// Blocks the thread until ``recover()``. Each thread that wakes up wakes the next one.
    private func wait() {
        recovery.wait()
        recovery.signal()
    }
}

extension SenderStage {
    /// Sends a batch again until it is delivered, because the blocked read may end a moment after the recovery.
    fileprivate func sendUntilItArrives(_ event: String) async -> Bool {
        for _ in 1...1_000 where await send(event) == .delivered { return true }
        return false
    }
}
