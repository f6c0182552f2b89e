import Foundation
import HeadgateTransport
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

/// Tests the compression of request bodies, which has a thread of its own.
@Suite("http dispatcher: compression", .timeLimit(.minutes(5)))
struct HTTPCompressionTests {
    @Test(
        "K1: bodies that are compressed with gzip or zstd decompress to the same bytes",
        arguments: [ContentCoding.gzip, .zstd])
    func whole(coding: ContentCoding) async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let event = #"{"text":"\#(String(repeating: "again and ", count: 1000))"}"#
        try await SenderStage.http(Self.settings(server, coding)) { stage in
            #expect(await stage.send(event, event) == .delivered)
        }
        let request = try #require(server.requests.first)
        #expect(request.headers["content-encoding"] == coding.rawValue)
        #expect(request.headers["content-type"] == "application/json")
        #expect(request.body.count < 2000)
        let decoder = coding == .gzip ? MachineDecoder.gzip : .zstd
        #expect(try decoder.decompressed(request.body) == "[\(event),\(event)]")
    }

    @Test("K1: a body that cannot be compressed is sent uncompressed, without Content-Encoding")
    func impossible() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let encoder: BodyEncoder.Encoder = { EncodedBody($0) }
        try await SenderStage.http(Self.settings(server), encoder: encoder) { stage in
            #expect(await stage.send("{}") == .delivered)
        }
        let request = try #require(server.requests.first)
        #expect(request.headers["content-encoding"] == nil)
        #expect(request.text == "[{}]")
    }

    @Test("K1: a GET request has no body, so nothing is compressed")
    func get() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        try await SenderStage.http(Self.settings(server), as: EventForm(method: .get)) { stage in
            #expect(await stage.send("{}") == .delivered)
        }
        #expect(server.requests.first?.headers["content-encoding"] == nil)
    }

    @Test("K1: the event loop does other work while a body is being compressed")
    func beside() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let encoder = SlowEncoder()
        try await SenderStage.http(Self.settings(server), encoder: encoder.encoder) { stage in
            async let results = stage.sendTogether([["{\"n\":1}"], ["{\"n\":2}"]])
            await encoder.begins()
            // This call needs a turn of the loop, so it returns only if the loop is not blocked.
            await stage.putOut([:])
            encoder.proceed(times: 2)
            #expect(await results == [.delivered, .delivered])
        }
        // Each request has a connection of its own, so either may arrive first.
        #expect(server.requests.map(\.text).sorted() == ["[{\"n\":1}]", "[{\"n\":2}]"])
    }

    @Test("D11: interrupting ends a batch whose body is being compressed; the batch is not sent afterwards")
    func interrupted() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let encoder = SlowEncoder()
        try await SenderStage.http(Self.settings(server), encoder: encoder.encoder) { stage in
            async let results = stage.sendTogether([["{\"n\":1}"], ["{\"n\":2}"]])
            await encoder.begins()
            await stage.interrupt {
                // When compression of the second body begins, the loop has the first body; its turn has not ended yet.
                encoder.proceed(times: 1)
                encoder.awaitBegin()
            }
            #expect(await results == [.interrupted, .interrupted])
            encoder.proceed(times: 2)
            #expect(await stage.send("{\"n\":3}") == .delivered)
        }
        #expect(server.requests.map(\.text) == ["[{\"n\":3}]"])
    }

    @Test("D11: a sender may be closed while a body is being compressed")
    func closed() async throws {
        let encoder = SlowEncoder()
        let settings = HTTPSettings(endpoint: "http://127.0.0.1:1/", gzip: true)
        try await SenderStage.http(settings, encoder: encoder.encoder) {
            await $0.start("{}") { _ in Issue.record("a closed sender reported a result") }
            await encoder.begins()
        }
        encoder.proceed(times: 1)
    }

    private static func settings(_ server: ScriptedServer, _ coding: ContentCoding = .gzip) -> HTTPSettings {
        HTTPSettings(endpoint: server.url, gzip: coding == .gzip, zstd: coding == .zstd)
    }
}

/// An encoder that holds each body until the test releases it, and returns it unchanged.
private final class SlowEncoder: Sendable {
    private let begun = DispatchSemaphore(value: 0)
    private let leave = DispatchSemaphore(value: 0)

    var encoder: BodyEncoder.Encoder {
        { [begun, leave] body in
            begun.signal()
            leave.wait()
            return EncodedBody(body)
        }
    }

    /// Blocks the thread until the compression of another body begins.
    func awaitBegin() { begun.wait() }

    /// Waits until the compression of another body begins. For asynchronous tests.
    func begins() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                self.awaitBegin()
                continuation.resume()
            }
        }
    }

    /// Releases this many bodies.
    func proceed(times: Int) { for _ in 0..<times { leave.signal() } }
}
