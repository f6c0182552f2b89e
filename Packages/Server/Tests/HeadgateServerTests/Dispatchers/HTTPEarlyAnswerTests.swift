import Foundation
import HeadgateCore
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// Tests servers that answer or close the connection before they have read a request's body.
@Suite("http dispatcher: early answers", .timeLimit(.minutes(5)))
struct HTTPEarlyAnswerTests {
    private static let large = "\"" + String(repeating: "x", count: 900_000) + "\""

    @Test(
        "D6, D3: an answer before the end of the request's body counts, even if the server then closes the connection",
        arguments: [413, 400, 401, 302, 500])
    func earlyAnswer(status: Int) async throws {
        let answer = "HTTP/1.1 \(status) X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        let server = try EarlyServer { _ in answer }
        defer { server.stop() }
        // Unsafe: the stage counts before its call returns, and the test reads the count after that.
        nonisolated(unsafe) var lost = 0
        try await SenderStage.http(HTTPSettings(endpoint: server.url)) { stage in
            for _ in 1...20 {
                var result = await stage.send(Self.large)
                // The connection may be lost between the check for an answer and the next piece of the body.
                if result == .noAnswer(cause: "connection lost") {
                    lost += 1
                    result = await stage.send(Self.large)
                }
                #expect(result == .http(status))
            }
        }
        #expect(lost < 10)
    }

    @Test(
        "D6: after a connection was lost within a body, only the batch's next attempt sends `Expect: 100-continue`",
        arguments: [EarlyServer.Ending.reset, .endThenReset])
    func expectsContinue(ending: EarlyServer.Ending) async throws {
        let server = try EarlyServer(ending) { $0.number == 0 ? "" : "HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n" }
        defer { server.stop() }
        // The server reads nothing, and no buffer of the system holds so many bytes.
        let endless = "\"" + String(repeating: "x", count: 30_000_000) + "\""
        // The lost connection must end the request: the request's timeout is longer than the test's time limit.
        try await SenderStage.http(HTTPSettings(endpoint: server.url, timeout: .seconds(600))) { stage in
            guard case .noAnswer = await stage.send(endless) else {
                Issue.record("the request got an answer")
                return
            }
            #expect(await stage.send(endless) == .http(413))
            #expect(await stage.send("{}") == .http(413))
        }
        let expectations = server.heads.map { $0.lowercased().contains("expect: 100-continue") }
        #expect(expectations == [false, true, false])
    }

    @Test("D6: a batch whose connection was lost within its body is remembered until it is answered")
    func lostBodies() {
        let (batch, other) = (Batch(of: ["1", "2"], in: .jsonArray), Batch(of: [], in: .jsonArray))
        let answer = HTTPOutcome.answered(HTTPAnswer(status: 500, headers: [:], body: []))
        var losses = LostBodies()
        losses.ended(batch, .failed(cause: "x"))
        #expect(!losses.include(batch))
        losses.ended(batch, .failed(cause: "x", isLost: true))
        #expect(losses.include(batch) && !losses.include(other))
        losses.ended(other, answer)
        losses.ended(batch, .failed(cause: "connection refused"))
        #expect(losses.include(batch))
        losses.ended(batch, answer)
        #expect(!losses.include(batch))
    }

    @Test("D6: both halves of a batch whose connection was lost are remembered, each until it is answered")
    func halves() {
        let whole = Batch(of: ["1", "2", "3", "4"], in: .jsonArray)
        let (first, second) = (half(of: whole, 0..<2), half(of: whole, 2..<4))
        var losses = LostBodies()
        losses.ended(whole, .failed(cause: "x", isLost: true))
        losses.ended(whole, .answered(HTTPAnswer(status: 413, headers: [:], body: [])))
        #expect(losses.include(first) && losses.include(second))
        losses.ended(first, .answered(HTTPAnswer(status: 200, headers: [:], body: [])))
        #expect(!losses.include(first) && losses.include(second))
        losses.ended(second, .answered(HTTPAnswer(status: 200, headers: [:], body: [])))
        #expect(!losses.include(second))
    }

    private func half(of batch: Batch, _ indices: Range<Int>) -> Batch {
        var half = batch
        half.events = Array(batch.events[indices])
        return half
    }

    @Test(
        "D9: an answer on an idle connection does not answer the next request",
        arguments: ["408 Request Timeout", "400 Bad Request"])
    func beforeTheRequest(line: String) async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        try await SenderStage.http(HTTPSettings(endpoint: server.url)) { stage in
            #expect(await stage.send("1") == .delivered)
            server.interrupt(saying: "HTTP/1.1 \(line)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            #expect(await stage.send("2") == .delivered)
            #expect(await stage.send("3") == .delivered)
        }
        #expect(server.requests.map(\.text) == ["[1]", "[2]", "[3]"])
        #expect(server.requests.map(\.connection) == [0, 1, 1])
    }

    @Test("D3: an event that is too large for a GET request is reported", arguments: [1_100_000, 9_000_000])
    func unsendable(size: Int) async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        try await SenderStage.http(HTTPSettings(endpoint: server.url), as: EventForm(method: .get)) { stage in
            let result = await stage.send(String(repeating: "1", count: size))
            #expect(result == .unsendable(cause: "the URL with the event is too long to send"))
            #expect(await stage.send("{}") == .delivered)
        }
    }

    @Test(
        "no_proxy is read as by curl: an empty one has no effect, and an asterisk alone matches all",
        arguments: [
            (nil, nil, "localhost,127.0.0.0/8,::1"), ("a.example", "b.example", "a.example,localhost,127.0.0.0/8,::1"),
            ("", "b.example", "b.example,localhost,127.0.0.0/8,::1"), ("*", nil, "*"), ("", "*", "*"),
            ("", "", "localhost,127.0.0.0/8,::1"), ("*.example", nil, "*.example,localhost,127.0.0.0/8,::1"),
        ] as [(String?, String?, String)])
    func noProxy(lowercase: String?, uppercase: String?, text: String) {
        #expect(ProxyExceptions(lowercase, uppercase).text == text)
    }
}

/// A server that reads only the head of a request, answers, and closes the connection.
final class EarlyServer: Sendable {
    struct Request {
        /// The connection's index in order of arrival, from 0.
        let number: Int
        let head: String
    }

    /// The way in which a connection ends for the client.
    enum Ending: Sendable {
        /// The client gets a reset.
        case reset
        /// The client gets the end of the stream, and then a reset.
        case endThenReset
    }

    private let listening: Int32
    private let ending: Ending
    private let answer: @Sendable (Request) -> String
    private let received = Guarded([String]())

    /// - Parameter answer: returns the answer to a request, or an empty text to send none.
    init(_ ending: Ending = .reset, _ answer: @escaping @Sendable (Request) -> String) throws {
        listening = try TestSocket.loopback()
        self.ending = ending
        self.answer = answer
        Thread.detachNewThread { self.accept() }
    }

    var url: String { "http://127.0.0.1:\(TestSocket.port(of: listening))/events" }

    var heads: [String] { received.withLock { $0 } }

    func stop() { shutdown(listening, Int32(SHUT_RDWR)) }

    private func accept() {
        while case let socket = Glibc.accept(listening, nil, nil), socket >= 0 {
            if let head = head(socket) {
                let request = received.withLock { heads in
                    heads.append(head)
                    return Request(number: heads.count - 1, head: head)
                }
                let bytes = Array(answer(request).utf8)
                _ = Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            }
            if ending == .endThenReset { shutdown(socket, Int32(SHUT_RDWR)) }
            // The system resets a connection that is closed with unread data.
            close(socket)
        }
        close(listening)
    }

    private func head(_ socket: Int32) -> String? {
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            var byte: UInt8 = 0
            guard recv(socket, &byte, 1, 0) == 1 else { return nil }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
