import HeadgateCore
import Testing

@testable import HeadgateServer

/// Tests the results of a server's answers, and of missing answers.
@Suite("http dispatcher: answers", .timeLimit(.minutes(5)))
struct HTTPAnswerTests {
    /// Sends one event to a server that gives this reply. Returns the result.
    private func result(
        timeout: Duration = .seconds(30), of reply: ScriptedReply, headers: [HTTPSettings.Header] = []
    ) async throws -> SendResult {
        let server = try ScriptedServer { _ in reply }
        defer { server.stop() }
        let settings = HTTPSettings(endpoint: server.url, headers: headers, timeout: timeout)
        // Unsafe: the stage sets the variable before its call returns, and the test reads it after that.
        nonisolated(unsafe) var result = SendResult.interrupted
        try await SenderStage.http(settings) { result = await $0.send("{}") }
        return result
    }

    @Test(
        "D3: a complete answer with any 2xx status is a delivery",
        arguments: ["200 OK", "201 Created", "202 Accepted", "299 X"])
    func success(line: String) async throws {
        #expect(try await result(of: .status(line, body: "thanks")) == .delivered)
    }

    @Test("D3: an answer with status 204 is complete without a body")
    func noContent() async throws {
        #expect(try await result(of: .bytes("HTTP/1.1 204 No Content\r\n\r\n")) == .delivered)
    }

    @Test("D3: a complete answer may be chunked, follow interim answers, or end with its connection")
    func wholeAnswers() async throws {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        #expect(try await result(of: .bytes(chunked)) == .delivered)
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        #expect(try await result(of: .bytes(interim)) == .delivered)
        #expect(try await result(of: .last("HTTP/1.1 200 OK\r\n\r\nall of it")) == .delivered)
    }

    @Test(
        "D3: an answer with a 2xx status that breaks off within its head is no delivery",
        arguments: ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nServer: x\r\n", "HTTP/1.1 200 OK\n\rx\n"])
    func cutHead(answer: String) async throws {
        #expect(try await result(of: .last(answer)) == .noAnswer(cause: "answer cut short"))
    }

    @Test(
        "D3: bytes that do not begin like an HTTP answer are invalid",
        arguments: [
            "HTTP/x 200 OK", "HTTP/ 200 OK", "HTTP/1.1.1 200 OK", "HTTP/1.1 OK", "HTTP/1.1 +20 OK", "HTTP/nonsense",
            "HTTP/2 4043No\r\u{0}",
        ])
    func noStatusLine(line: String) async throws {
        let answer = ScriptedReply.last(line + "\r\nContent-Length: 0\r\n\r\n")
        #expect(try await result(of: answer) == .noAnswer(cause: "not an HTTP answer"))
    }

    @Test(
        "D3: the result of any other status has the answer's text",
        arguments: [300, 301, 399, 400, 401, 404, 413, 429, 500, 503])
    func refusal(status: Int) async throws {
        let refusal = HTTPAnswerPolicy().refusal(status: status, answer: "no: \(status)")
        #expect(try await result(of: .status("\(status) X", body: "no: \(status)")) == .refused(refusal))
    }

    @Test("D3: a redirect is not followed")
    func redirect() async throws {
        let server = try ScriptedServer { _ in .status("307 Elsewhere", headers: ["Location: /other"]) }
        defer { server.stop() }
        try await SenderStage.http(HTTPSettings(endpoint: server.url)) { stage in
            #expect(await stage.send("{}") == .http(307))
        }
        #expect(server.requests.map(\.target) == ["/events"])
    }

    @Test(
        "D5: the result has the wait that the Retry-After header requests",
        arguments: [
            ("120", .seconds(120)), (" 7\t", .seconds(7)), ("Wed, 21 Oct 2015 07:28:00 GMT", .zero), ("soon", nil),
        ] as [(String, Duration?)])
    func retryAfter(value: String, wait: Duration?) async throws {
        let reply = ScriptedReply.status("503 Busy", headers: ["retry-after: \(value)"])
        #expect(try await result(of: reply) == .http(503, retryAfter: wait))
    }

    @Test("D3: an answer with a 2xx status that breaks off within its body is no delivery")
    func cutShort() async throws {
        let length = ScriptedReply.last("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
        #expect(try await result(of: length) == .noAnswer(cause: "answer cut short"))
        let chunk = ScriptedReply.last("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nshort")
        #expect(try await result(of: chunk) == .noAnswer(cause: "answer cut short"))
    }

    @Test("D3: a refusal that breaks off within its body is still a refusal")
    func refusalCutShort() async throws {
        let reply = ScriptedReply.last("HTTP/1.1 422 No\r\nContent-Length: 100\r\n\r\nshort")
        #expect(try await result(of: reply) == .http(422, answer: "short"))
    }

    @Test("D9: a connection closed without an answer is a network error")
    func nothing() async throws {
        #expect(try await result(of: .last("")) == .noAnswer(cause: "connection closed without an answer"))
    }

    @Test(
        "D9: an answer that is not HTTP is a network error",
        arguments: ["220 mail.example ESMTP\r\n", "\u{0}\u{1}\u{2}\r\n\r\n"]
    )
    func notHTTP(greeting: String) async throws {
        #expect(try await result(of: .last(greeting)) == .noAnswer(cause: "not an HTTP answer"))
    }

    @Test("D9: a request without an answer ends at the timeout")
    func timeout() async throws {
        let result = try await result(timeout: .milliseconds(100), of: .silence)
        #expect(result == .noAnswer(cause: "timed out"))
    }

    @Test("D9: the timeout ends an answer with a 2xx status whose body never ends")
    func endlessSuccess() async throws {
        let reply = ScriptedReply.endless("HTTP/1.1 200 OK\r\n\r\n", again: String(repeating: "x", count: 4096))
        #expect(try await result(timeout: .milliseconds(300), of: reply) == .noAnswer(cause: "timed out"))
    }

    @Test("D3: of a refusal whose body never ends the first 512 bytes are kept")
    func endlessRefusal() async throws {
        let reply = ScriptedReply.endless("HTTP/1.1 500 No\r\n\r\n", again: String(repeating: "x", count: 4096))
        let answer = String(repeating: "x", count: 512)
        #expect(try await result(of: reply) == .http(500, answer: answer))
    }

    @Test("X3: an answer with endless headers fails as too long")
    func endlessHeaders() async throws {
        let line = "X-Noise: \(String(repeating: "x", count: 4000))\r\n"
        let result = try await result(of: .endless("HTTP/1.1 200 OK\r\n", again: line))
        #expect(result == .noAnswer(cause: "answer too long"))
    }

    @Test("X3: an answer with an endless header line fails as too long")
    func endlessHeaderLine() async throws {
        let reply = ScriptedReply.endless("HTTP/1.1 200 OK\r\nX-Noise: ", again: String(repeating: "x", count: 4000))
        let result = try await result(of: reply)
        #expect(result == .noAnswer(cause: "answer too long"))
    }

    @Test("D3, X4: a secret that is cut off at the end of a long answer is blanked, and so are all before it")
    func cutAtTheLimit() async throws {
        let secret = String((0..<100).map { Character(UnicodeScalar(UInt8(ascii: "a") + $0 % 26)) })
        let headers = [HTTPSettings.Header(name: "Authorization", value: .text(secret))]
        // The sender keeps 512 bytes for display, plus six times the secret's length: 11 secrets, and the first 12
        // bytes of the next one.
        let reply = ScriptedReply.status("422 No", body: String(repeating: secret, count: 20))
        let answer = String(repeating: "***", count: 12)
        #expect(try await result(of: reply, headers: headers) == .http(422, answer: answer))
    }

    @Test("D3, X4: a refusal that breaks off within a secret shows no part of the secret", arguments: [1, 3, 8])
    func brokenOff(length: Int) async throws {
        let headers = [HTTPSettings.Header(name: "Authorization", value: .text("s3cret-9"))]
        let head = "HTTP/1.1 422 No\r\nContent-Length: 100\r\n\r\n"
        let reply = ScriptedReply.last("\(head)see \("s3cret-9".prefix(length))")
        #expect(try await result(of: reply, headers: headers) == .http(422, answer: "see ***"))
        // A complete answer that only looks like the beginning of the secret is not changed.
        let whole = ScriptedReply.status("422 No", body: "see s3c")
        #expect(try await result(of: whole, headers: headers) == .http(422, answer: "see s3c"))
    }

    @Test("D10: the first 512 bytes of an answer are kept as text, cut between characters")
    func excerpt() async throws {
        let long = "a" + String(repeating: "é", count: 600)
        let kept = "a" + String(repeating: "é", count: 255)
        #expect(try await result(of: .status("400 No", body: long)) == .http(400, answer: kept))
    }

    @Test("D10: a refusal that the server compressed is shown as text, at any length", arguments: ["gzip", "zstd"])
    func compressed(coding: String) async throws {
        let text = (0..<5_000).map { "fault \($0 &* 2_654_435_761)\n" }.joined()
        let bytes = Array(text.utf8)
        let body = try #require(coding == "gzip" ? Gzip.compressed(bytes) : Zstandard.compressed(bytes))
        let head = "HTTP/1.1 400 No\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n"
        let answer = String(text.prefix(512))
        #expect(try await result(of: .raw(Array(head.utf8) + body)) == .http(400, answer: answer))
    }

    @Test("D9: a connection to a port without a listener is reported as refused")
    func connectionRefused() async throws {
        let endpoint = "http://127.0.0.1:\(try TestSocket.unusedPort())/"
        try await SenderStage.http(HTTPSettings(endpoint: endpoint)) { stage in
            #expect(await stage.send("{}") == .noAnswer(cause: "connection refused"))
        }
    }

    @Test("D9: a Unix socket that does not exist is reported")
    func noSocket() async throws {
        let folder = try ScratchFolder()
        let settings = HTTPSettings(endpoint: "http://x/", unixSocket: folder("none"))
        try await SenderStage.http(settings) { stage in
            #expect(await stage.send("{}") == .noAnswer(cause: "no such socket"))
        }
    }

    @Test("D9: a host name that no resolver knows is reported")
    func noHost() async throws {
        // RFC 6761 reserves the name, so no resolver knows it.
        try await SenderStage.http(HTTPSettings(endpoint: "http://nowhere.invalid/")) { stage in
            #expect(await stage.send("{}") == .noAnswer(cause: "could not resolve host"))
        }
    }

    @Test(
        "K1: an endpoint that is not a URL is reported, and not tried",
        arguments: ["http://", "http://[::1/", "ftp://127.0.0.1/"]
    )
    func badEndpoint(endpoint: String) async throws {
        try await SenderStage.http(HTTPSettings(endpoint: endpoint)) { stage in
            guard case .noAnswer = await stage.send("{}") else {
                Issue.record("an event was sent to \(endpoint)")
                return
            }
        }
    }
}
