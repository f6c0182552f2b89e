import Foundation
import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

/// Tests header values from files and environment variables, and that answers do not show them.
@Suite("http dispatcher: secrets", .timeLimit(.minutes(5)))
struct HTTPSecretTests {
    @Test("K1: a header's file is read again for each request, without its line end", arguments: ["", "\n", "\r\n"])
    func file(lineEnd: String) async throws {
        let folder = try ScratchFolder()
        let path = try folder.write("Bearer one\(lineEnd)", to: "token")
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let headers = [HTTPSettings.Header(name: "Authorization", value: .file(path))]
        try await SenderStage.http(HTTPSettings(endpoint: server.url, headers: headers)) { stage in
            #expect(await stage.send("{}") == .delivered)
            try folder.write("Bearer two\(lineEnd)", to: "token")
            #expect(await stage.send("{}") == .delivered)
        }
        #expect(server.requests.map { $0.headers["authorization"] } == ["Bearer one", "Bearer two"])
    }

    /// The test runs in a process of its own, because all tests of a process share its environment.
    @Test("K1: a header's environment variable is read again for each request")
    func environment() async {
        await #expect(processExitsWith: .success) {
            let server = try ScriptedServer { _ in .ok }
            let headers = [HTTPSettings.Header(name: "X-Key", value: .environment("HEADGATE_TEST_KEY"))]
            try await SenderStage.http(HTTPSettings(endpoint: server.url, headers: headers)) { stage in
                let unset = await stage.send("{}")
                try #require(unset == .noAnswer(cause: "header X-Key: variable not set"))
                for value in ["first", "second"] {
                    setenv("HEADGATE_TEST_KEY", value, 1)
                    let sent = await stage.send("{}")
                    try #require(sent == .delivered)
                }
            }
            let values = server.requests.map { $0.headers["x-key"] }
            server.stop()
            try #require(values == ["first", "second"])
        }
    }

    @Test("K1: headers of the settings replace the service's own, and may be empty")
    func text() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let headers: [HTTPSettings.Header] = [
            .init(name: "content-type", value: .text("application/vnd.shop+json")),
            .init(name: "User-Agent", value: .text("shop")),
            .init(name: "X-Empty", value: .text("")),
        ]
        try await SenderStage.http(HTTPSettings(endpoint: server.url, headers: headers)) { stage in
            #expect(await stage.send("{}") == .delivered)
        }
        let request = try #require(server.requests.first)
        #expect(request.headers["content-type"] == "application/vnd.shop+json")
        #expect(request.headers["user-agent"] == "shop")
        #expect(request.headers["x-empty"] == "")
    }

    @Test("X4: a header that cannot be sent is reported with its name and without its value")
    func unusableHeaders() async throws {
        let folder = try ScratchFolder()
        let path = try folder.write("secret\r\nX-Injected: 1", to: "token")
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let causes: [(HTTPSettings.HeaderValue, String)] = [
            (.file(folder("none")), "header X-Key: file not readable"),
            (.file(folder.path), "header X-Key: file not readable"),
            (.file(path), "header X-Key: not a valid header"),
            (.text("secret\u{0}"), "header X-Key: not a valid header"),
        ]
        for (value, cause) in causes {
            let headers = [HTTPSettings.Header(name: "X-Key", value: value)]
            try await SenderStage.http(HTTPSettings(endpoint: server.url, headers: headers)) { stage in
                #expect(await stage.send("{}") == .noAnswer(cause: cause))
            }
        }
        #expect(server.requests.isEmpty)
    }

    @Test("X4: a secret that the server repeats is blanked, even where the excerpt ends within it")
    func repeated() async throws {
        let folder = try ScratchFolder()
        let secret = "s3cret-\(String(repeating: "x", count: 300))"
        let path = try folder.write("Bearer \(secret)", to: "token")
        let server = try ScriptedServer { request in
            let sent = request.headers["authorization"] ?? ""
            return .status("401 No", body: "bad \(sent), \(secret) and \(secret) and \(secret)")
        }
        defer { server.stop() }
        let headers = [HTTPSettings.Header(name: "Authorization", value: .file(path))]
        try await SenderStage.http(HTTPSettings(endpoint: server.url, headers: headers)) { stage in
            let expected = HTTPAnswerPolicy().refusal(status: 401, answer: "bad ***, *** and ***")
            guard case .refused(let refusal) = await stage.send("{}") else {
                Issue.record("the event was not refused")
                return
            }
            #expect(refusal.answer?.hasPrefix(expected.answer ?? "") == true)
            #expect(refusal.answer?.contains("s3c") == false)
        }
    }

    @Test("A9, X4: a header takes its prefix and a member of a board's output, which is blanked in answers")
    func output() async throws {
        let server = try ScriptedServer { request in
            let headers = request.headers
            let body = #"\#(headers["x-login"] ?? "") or s3c\/ret: \#(headers["x-tenant"] ?? "")"#
            return .status("422 No", body: body)
        }
        defer { server.stop() }
        let headers: [HTTPSettings.Header] = [
            .init(name: "X-Login", value: .output("token", prefix: "id=")),
            .init(name: "X-Tenant", value: .output("tenant", prefix: "")),
        ]
        try await SenderStage.http(HTTPSettings(endpoint: server.url, headers: headers)) { stage in
            await stage.putOut(["token": "s3c/ret"])
            #expect(
                await stage.send("{}") == .noAnswer(cause: "header X-Tenant: the board's output has no member `tenant`")
            )
            await stage.putOut(["token": "s3c/ret", "tenant": 4711])
            #expect(await stage.send("{}") == .http(422, answer: "*** or ***: ***"))
        }
        #expect(server.requests.map { $0.headers["x-login"] } == ["id=s3c/ret"])
        #expect(server.requests.map { $0.headers["x-tenant"] } == ["4711"])
    }

    @Test("X4: user info of the endpoint is sent as basic authentication and blanked in answers")
    func userInfo() async throws {
        let server = try ScriptedServer { request in
            .status("403 No", body: "\(request.headers["authorization"] ?? ""), p@ss, shop:p%40ss")
        }
        defer { server.stop() }
        let endpoint = "http://shop:p%40ss@127.0.0.1:\(server.port)/"
        try await SenderStage.http(HTTPSettings(endpoint: endpoint)) { stage in
            #expect(await stage.send("{}") == .http(403, answer: "Basic ***, ***, ***"))
        }
        #expect(server.requests.first?.headers["authorization"] == "Basic c2hvcDpwQHNz")
    }

    @Test("X4: the beginning of a secret at the end of a cut text is blanked")
    func cutSecret() {
        let mask = SecretMask(["topsecret"])
        #expect(mask.excerpt(of: Array("see tops".utf8), isCut: true, limit: 512) == "see ***")
        #expect(mask.excerpt(of: Array("see tops".utf8), isCut: false, limit: 512) == "see tops")
        #expect(mask.excerpt(of: Array("topsecretopsecret".utf8), isCut: false, limit: 512) == "***opsecret")
    }

    @Test(
        "X4: a secret is blanked in every encoding that an answer may use (JSON, URL, HTML)",
        arguments: [
            (#"ab/c+d=="#, #"ab\/c+d=="#), ("ab/c+d==", "ab%2Fc%2bd%3D%3d"), ("ab/c", #"ab\u002Fc"#),
            (#"a"b\c"#, #"a\"b\\c"#), (#"a"b\c"#, #"a"b\c"#), (#"a"b\c"#, #"a&quot;b\c"#), (#"\\\"#, #"\\\\\\"#),
            ("a&b<c", "a&amp;b&lt;c"), ("a'b", "a&#39;b"), ("a'b", "a&#x27;b"), ("two words", "two+words"),
            ("schlüssel", #"schl\u00fcssel"#), ("schlüssel", "schl%C3%BCssel"), ("🔑x", #"\uD83D\uDD11x"#),
            ("\u{10FFFF}", "&#1114111;"), ("\u{7FF}", "&#2047;"),
        ])
    func spelled(secret: String, encoding: String) {
        let mask = SecretMask([secret])
        #expect(mask.excerpt(of: Array("[\(encoding)]".utf8), isCut: false, limit: 512) == "[***]")
        #expect(mask.longest >= encoding.utf8.count)
        for length in 1..<encoding.utf8.count {
            let beginning = Array(encoding.utf8.prefix(length))
            #expect(mask.excerpt(of: beginning, isCut: true, limit: 512) == "***")
        }
    }

    @Test(
        "X4: of a secret header's value the token, the user and the password are secrets, too",
        arguments: [
            ("Bearer abc", "abc"), ("Basic am9lOnMzY3JldA==", "joe:s3cret"), ("basic am9lOnMzY3JldA==", "s3cret"),
            ("Basic dG9rZW4tMTo=", "token-1"), (#"Token token="s3cret-7", id=4711471147"#, "s3cret-7"),
            ("session=abcdef; theme=dark", "abcdef"), ("key-0815", "key-0815"),
        ])
    func headerForms(value: String, secret: String) {
        #expect(HeaderSecrets.forms(of: value).contains(secret))
    }

    @Test(
        "X4: only the credentials of a header's value are secrets, not the words around them",
        arguments: ["Basic ???", "Basic abc", "a=b; theme=dark", "Bearer abc=="])
    func noForms(value: String) {
        let forms = HeaderSecrets.forms(of: value)
        #expect(forms.allSatisfy { value.hasSuffix($0) }, "\(forms)")
    }

    @Test(
        "Base64 is decoded if it is valid, and otherwise unchanged",
        arguments: ["", "f", "fo", "foo", "foob", "fooba", "f\0\u{FF}"])
    func base64(text: String) {
        let encoded = Base64.encode(Array(text.utf8))
        #expect(Base64.decode(encoded) == Array(text.utf8))
        for wrong in [encoded + "=", encoded + "A", "*" + encoded.dropFirst(), "=" + encoded.dropFirst()] {
            #expect(wrong == encoded || wrong.isEmpty || Base64.decode(wrong) == nil, "\(wrong)")
        }
    }

    @Test("X4: if one secret contains another, the longer one is blanked as a whole")
    func nested() {
        let mask = SecretMask(["ab/cd", "ab", "/cd"])
        #expect(mask.excerpt(of: Array(#"ab\/cd, ab, \/cd"#.utf8), isCut: false, limit: 512) == "***, ***, ***")
    }

    @Test("X4: invalid UTF-8 in an answer is replaced by U+FFFD")
    func repaired() {
        let mask = SecretMask([])
        #expect(mask.excerpt(of: [0x61, 0xFF, 0x62], isCut: false, limit: 512) == "a\u{FFFD}b")
    }

    @Test(
        "X4: the value of a header whose name suggests a secret is a secret",
        arguments: ["Authorization", "X-Api-Key", "cookie", "X-Session", "X-Auth", "Signature"])
    func secretNames(name: String) {
        #expect(HTTPSettings.Header(name: name, value: .text("x")).isSecret)
        #expect(HTTPSettings.Header(name: "X-Plain", value: .environment("x")).isSecret)
        #expect(!HTTPSettings.Header(name: "X-Plain", value: .text("x")).isSecret)
    }
}
