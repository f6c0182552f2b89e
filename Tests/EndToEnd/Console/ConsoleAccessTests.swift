import Foundation
import Testing

/// Access to the console (Protocol, The console; Behaviour O3).
@Suite struct ConsoleAccessTests {
    /// Starts a console for a daemon that does not run. Access to the console does not depend on the daemon.
    private func withConsole(_ arguments: String..., test: (ConsoleProcess) async throws -> Void) async throws {
        try await withScene { scene in
            let console = scene.console(showing: scene.idleDaemon())
            switch arguments.count {
            case 0: try await console.start()
            case 1: try await console.start(arguments[0])
            default: try await console.start(arguments[0], arguments[1])
            }
            try await test(console)
        }
    }

    @Test("O3: without the token every page except /healthz and /metrics answers 401")
    func unknown() async throws {
        try await withConsole { console in
            for target in ["/", "/barriers", "/live?page=/", "/assets/console.js", "/none", "/?token=wrong"] {
                let answer = try await console.ask("GET", target)
                #expect(answer.status == 401 && answer.header("WWW-Authenticate") != nil, "\(target)")
            }
            #expect(try await console.ask("GET", "/healthz").status == 503)
            #expect(try await console.ask("GET", "/metrics").status == 503)
        }
    }

    @Test("The printed address sets a cookie and redirects without the token, and the cookie opens the pages")
    func signIn() async throws {
        try await withConsole { console in
            let first = try await console.ask("GET", "/?token=\(console.token)")
            #expect(first.status == 303 && first.header("Location") == "/")
            let cookie = try #require(first.header("Set-Cookie"))
            for part in ["HttpOnly", "SameSite=Strict", "Path=/"] { #expect(cookie.contains(part)) }
            let pair = try #require(cookie.components(separatedBy: ";").first)
            let page = try await console.ask("GET", "/", ["Cookie": pair])
            #expect(page.status == 200 && !page.body.contains(console.token))
            // The cookie is a session, and the token is no cookie.
            #expect(!cookie.contains(console.token))
            let forged = "\(pair.prefix { $0 != "=" })=\(console.token)"
            #expect(try await console.ask("GET", "/", ["Cookie": forged]).status == 401)
        }
    }

    /// Signs in, and returns the cookie.
    private func signIn(_ console: ConsoleProcess) async throws -> String {
        let answer = try await console.ask("GET", "/?token=\(console.token)")
        return try #require(answer.header("Set-Cookie")?.components(separatedBy: ";").first)
    }

    @Test("O3: signing out ends the browser's session, and no other session")
    func signOut() async throws {
        try await withConsole { console in
            let (first, second) = (try await signIn(console), try await signIn(console))
            #expect(first != second)
            let page = try await console.ask("GET", "/", ["Cookie": first])
            #expect(page.body.contains("<form method=\"post\" action=\"/sign-out\">"))
            let form = ["Cookie": first, "Origin": "http://\(console.authority)"]
            let answer = try await console.ask("POST", "/sign-out", form)
            #expect(answer.status == 303 && answer.header("Set-Cookie")?.contains("Max-Age=0") == true)
            #expect(try await console.ask("GET", "/", ["Cookie": first]).status == 401)
            #expect(try await console.ask("GET", "/", ["Cookie": second]).status == 200)
        }
    }

    @Test("O3: through a proxy's name /metrics needs the token, and by the console's own address none")
    func metricsByProxy() async throws {
        try await withConsole("--host", "console.example") { console in
            let proxied = ["Host": "console.example"]
            let (without, with) = (
                try await console.ask("GET", "/metrics", proxied), try await console.get("/metrics", proxied)
            )
            let direct = try await console.ask("GET", "/metrics")
            // The daemon does not run.
            #expect(without.status == 401 && with.status == 503 && direct.status == 503)
        }
    }

    @Test("O3: --metrics-listen serves /metrics and /healthz alone, and with a token file only with the token")
    func metricsListen() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let console = scene.console(showing: daemon)
            let path = console.folder + "/metrics-token"
            try await console.start("--metrics-listen", "0.0.0.0:0", "--metrics-token-file", path)
            let line = /headgate-console serves http:\/\/0\.0\.0\.0:([0-9]+)\/metrics\n/
            let port = try await eventually("the address of the metrics") {
                console.log.firstMatch(of: line).flatMap { UInt16($0.output.1) }
            }
            func ask(_ target: String, _ headers: [String: String] = [:]) async throws -> ConsoleAnswer {
                let connection = try await ConsoleConnection(port: port)
                defer { connection.close() }
                try await connection.send("GET", target, ["Host": "any.example"].merging(headers) { $1 })
                return try ConsoleAnswer(await connection.everything())
            }
            let token = try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(
                in: .whitespacesAndNewlines)
            #expect(token != console.token)
            #expect(try await ask("/metrics").status == 401)
            let metrics = try await ask("/metrics", ["Authorization": "Bearer \(token)"])
            #expect(metrics.status == 200 && metrics.body.contains("headgate_ready 1"))
            try await eventually("the status 200 of /healthz") { try await ask("/healthz").status == 200 }
            for target in ["/", "/?token=\(console.token)", "/clients"] {
                #expect(try await ask(target, ["Authorization": "Bearer \(console.token)"]).status == 404)
            }
            for refused in [["--metrics-listen", "0.0.0.0:0"], ["--metrics-token-file", path]] {
                #expect(try await console.launch(refused).exitCode() == 2)
            }
        }
    }

    @Test("X3: clients that send half a request and close keep no descriptor")
    func left() async throws {
        try await withConsole { console in
            let process = try #require(console.process)
            func descriptors() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.processIdentifier)/fd").count
            }
            let before = try descriptors()
            for text in ["GET / HT", "GET / HTTP/1.1\r\nHost: a", "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nx"] {
                for _ in 1...20 {
                    let connection = try await ConsoleConnection(port: console.port)
                    try await connection.send(text: text)
                    connection.close()
                }
            }
            try await eventually("closed connections") { try descriptors() <= before + 1 }
        }
    }

    @Test(
        "Every answer has headers against external content, type sniffing, caching and framing"
    )
    func headers() async throws {
        try await withConsole { console in
            for answer in [
                try await console.get("/"), try await console.ask("GET", "/"),
                try await console.get("/assets/console.js"),
            ] {
                let policy = try #require(answer.header("Content-Security-Policy"))
                #expect(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"))
                #expect(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"))
                #expect(answer.header("X-Content-Type-Options") == "nosniff")
                #expect(answer.header("Referrer-Policy") == "no-referrer")
                #expect(answer.header("Cache-Control") == "no-store")
            }
        }
    }

    @Test("A foreign host name is answered with 421, unless --host allows it")
    func hosts() async throws {
        try await withConsole("--host", "console.example") { console in
            for host in ["evil.example", "127.0.0.1:1", ""] {
                for target in ["/", "/healthz", "/metrics"] {
                    let status = try await console.get(target, ["Host": host]).status
                    // The HTTP library itself rejects HTTP/1.1 without a Host header.
                    #expect(status == 421 || host.isEmpty && status == 400, "\(host) \(target)")
                }
            }
            for host in ["console.example", "localhost", "localhost:8080", console.authority] {
                #expect(try await console.get("/", ["Host": host]).status == 200, "\(host)")
            }
        }
    }

    @Test("A changed token file makes old links invalid, at once with SIGHUP, and ends open pages")
    func changedToken() async throws {
        try await withScene { scene in
            let console = scene.console(showing: scene.idleDaemon())
            try await console.start("--token-file", console.tokenPath)
            let mode = try FileManager.default.attributesOfItem(atPath: console.tokenPath)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let page = try await console.news(of: "/")
            try await page.until("the first update of the page") { $0.contains("event: region") }
            try "another".write(toFile: console.tokenPath, atomically: false, encoding: .utf8)
            console.process?.signal(SIGHUP)
            _ = try await page.everything()
            try await eventually("the new address") { console.log.contains("/?token=another\n") }
            #expect(try await console.get("/").status == 401)
            #expect(try await console.get("/", ["Authorization": "Bearer another"]).status == 200)

            // A file without a token leaves the previous token valid.
            try "".write(toFile: console.tokenPath, atomically: false, encoding: .utf8)
            console.process?.signal(SIGHUP)
            try await eventually("the error line") { console.log.contains("has no valid token") }
            #expect(try await console.get("/", ["Authorization": "Bearer another"]).status == 200)
        }
    }

    @Test("The token file survives the console, and without it each start creates a new token")
    func restart() async throws {
        try await withScene { scene in
            let console = scene.console(showing: scene.idleDaemon())
            var tokens: [String] = []
            for arguments in [["--token-file", console.tokenPath], ["--token-file", console.tokenPath], [], []] {
                if arguments.isEmpty {
                    try await console.start()
                } else {
                    try await console.start(arguments[0], arguments[1])
                }
                tokens.append(console.token)
                console.process?.signal(SIGTERM)
                #expect(try await console.process?.exitCode() == 0)
            }
            #expect(tokens[0] == tokens[1] && Set(tokens).count == 3)
        }
    }

    @Test("X3: large headers, long forms and invalid requests are refused, and the console continues")
    func hostileBytes() async throws {
        try await withConsole("--allow-control") { console in
            let long = String(repeating: "a", count: 40_000)
            #expect((400..<500).contains(try await console.get("/", ["X": long]).status))
            #expect((400..<500).contains(try await console.get("/\(long)").status))
            #expect(try await console.post("/dispatchers/collect/pause", "reason=\(long)").status == 413)
            for text in [
                "\r\n\r\n", "\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
                "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            ] {
                let connection = try await ConsoleConnection(port: console.port)
                try await connection.send(text: text)
                connection.close()
            }
            #expect(try await console.get("/").status == 200)
        }
    }
}
