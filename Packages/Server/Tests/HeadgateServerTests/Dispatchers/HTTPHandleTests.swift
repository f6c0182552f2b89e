import HeadgateData
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// Tests consecutive requests to one destination, which share a libcurl handle.
@Suite("http dispatcher: consecutive requests", .timeLimit(.minutes(5)))
struct HTTPHandleTests {
    @Test("K1: a request has no headers or bytes of the previous one, which was larger or smaller")
    func nothingIsLeft() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let login = HTTPSettings.Header(name: "X-Login", value: .output("token", prefix: ""))
        let sizes = [400_000, 2, 90_000, 300_000, 10]
        try await SenderStage.http(HTTPSettings(endpoint: server.url, headers: [login])) { stage in
            for size in sizes {
                await stage.putOut(["token": .string("of \(size)")])
                #expect(await stage.send(String(repeating: "1", count: size)) == .delivered)
            }
        }
        #expect(server.requests.map(\.text) == sizes.map { "[\(String(repeating: "1", count: $0))]" })
        #expect(server.requests.map { $0.headers["x-login"] } == sizes.map { "of \($0)" })
        #expect(server.requests.allSatisfy { $0.headers["content-type"] == "application/json" })
        #expect(server.requests.allSatisfy { $0.connection == 0 })
    }

    @Test("D11: cancelling a request that has ended does not cancel the next one")
    func endedBefore() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let stage = try Stage()
        let request = HTTPRequest(target: HTTPRequest.Target(url: server.url), body: [0x5B, 0x5D])
        let outcomes = await stage.sendTwice(request)
        #expect(outcomes.map(\.status) == [200, 200])
        await stage.end()
    }

    /// An HTTP client on a loop of its own.
    private actor Stage {
        nonisolated let loop: EventLoop
        private var client: HTTPClient?

        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init() throws {
            loop = try EventLoop.onNewThread(named: "test-requests")
        }

        /// Sends two requests, and cancels the first one while it is in flight.
        func sendTwice(_ request: HTTPRequest) async -> [HTTPOutcome] {
            let client = HTTPClient(loop: loop, userAgent: "headgate/test")
            self.client = client
            var first: HTTPTransfer?
            let outcome = await withCheckedContinuation { continuation in
                first = client.send(request) { continuation.resume(returning: $0) }
            }
            let next = await withCheckedContinuation { continuation in
                let second = client.send(request) { continuation.resume(returning: $0) }
                #expect(second.handle === first?.handle)
                if let first { client.cancel(first) }
            }
            return [outcome, next]
        }

        func end() async {
            client?.close()
            client = nil
            loop.stop()
            await loop.waitUntilClosed()
        }
    }
}

extension HTTPOutcome {
    fileprivate var status: Int? {
        if case .answered(let answer) = self { answer.status } else { nil }
    }
}
