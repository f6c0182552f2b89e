import Foundation
import Testing

/// The console as a service (Protocol, The console; Behaviour O3).
@Suite struct ConsoleServiceTests {
    @Test("An unread standard error does not delay any page")
    func stalledMessages() async throws {
        try await withScene { scene in
            let console = scene.console(showing: scene.idleDaemon())
            let socket = scene.directory.path("console.sock")
            let arguments = ["--listen", socket, "--socket", console.daemon.socketPath]
            try await FullPipe().run("headgate-console", arguments) {
                try await eventually("the socket") { FileManager.default.fileExists(atPath: socket) }
                let words = "-s -o /dev/null -w %{http_code} http://localhost/healthz --unix-socket"
                let answer = try await CommandLineTool.run(
                    program: "/usr/bin/curl", words.split(separator: " ").map(String.init) + [socket],
                    in: scene.directory.path("."))
                #expect(answer.output == "503")
            }
        }
    }

    @Test("O3: /healthz is 200 while the daemon is ready, and 503 with a reason while it is down")
    func health() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            let console = scene.console(showing: daemon)
            try await console.start()
            #expect(try await console.ask("GET", "/healthz").status == 503)
            #expect(try await console.get("/").body.contains("The daemon has been unreachable since"))

            try daemon.configure(["dispatchers": ["collect": ["kind": "file", "path": "e"]]])
            try await daemon.start()
            let healthy = try await console.ask("GET", "/healthz")
            #expect(healthy.status == 200 && healthy.body == "ok")
            #expect(try await console.get("/").body.contains(">collect</a>"))

            try await daemon.killNow()
            let away = try await console.ask("GET", "/healthz")
            #expect(away.status == 503 && away.body == "away")
            try await daemon.start()
            #expect(try await console.ask("GET", "/healthz").status == 200)
        }
    }

    @Test("O1: /metrics needs no token, and has the Prometheus or OpenMetrics format as requested")
    func metrics() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(["dispatchers": ["collect": ["kind": "file", "path": "e"]]])
            try await daemon.track(1...3)
            let console = scene.console(showing: daemon)
            try await console.start()
            let plain = try await console.ask("GET", "/metrics")
            #expect(plain.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
            #expect(plain.status == 200 && plain.body.contains("\nheadgate_received_total 3\n"))
            let open = try await console.ask("GET", "/metrics", ["Accept": "application/openmetrics-text"])
            #expect(open.header("Content-Type")?.hasPrefix("application/openmetrics-text; version=1.0.0") == true)
            #expect(open.body.contains("# TYPE headgate_received counter\n") && open.body.hasSuffix("# EOF\n"))
            try await daemon.killNow()
            #expect(try await console.ask("GET", "/metrics").status == 503)
        }
    }

    @Test("O3: an address that is not loopback exits with 2, and a failure with 1")
    func exitCodes() async throws {
        try await withScene { scene in
            let console = scene.console(showing: scene.idleDaemon())
            #expect(try await console.launch(["--listen", "0.0.0.0:0"]).exitCode() == 2)
            #expect(try await console.launch(["--nonsense"]).exitCode() == 2)
            #expect(try await console.launch(["--help"]).exitCode() == 0)
            #expect(try await console.launch(["--token-file", console.folder + "/none/token"]).exitCode() == 1)
            try await console.start()
            #expect(try await console.launch(["--listen", console.authority]).exitCode() == 1)
        }
    }

    @Test("SIGTERM and SIGINT stop the console in order, even with open pages", arguments: [SIGTERM, SIGINT])
    func stop(signal: Int32) async throws {
        try await withScene { scene in
            let console = scene.console(showing: scene.idleDaemon())
            try await console.start()
            let page = try await console.news(of: "/")
            try await page.until("the first update of the page") { $0.contains("event: region") }
            console.process?.signal(signal)
            _ = try await page.everything()
            #expect(try await console.process?.exitCode() == 0)
        }
    }

    @Test("The console can listen on a Unix socket, whose file is removed at its end")
    func unixSocket() async throws {
        try await withScene { scene in
            let console = scene.console(showing: scene.idleDaemon())
            let path = scene.directory.path("c.sock")
            let process = try console.launch(["--listen", path])
            try await eventually("the line `ready`") { process.errorOutput.contains("ready http+unix://") }
            let client = try await LineClient(path)
            try await client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r")
            #expect(try await client.line() == "HTTP/1.1 503 Service Unavailable\r")
            process.signal(SIGTERM)
            #expect(try await process.exitCode() == 0)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test(
        "O3: all pages share one watch of the daemon, which ends with the last page, and then no calls are made")
    func unattended() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(["dispatchers": ["collect": ["kind": "file", "path": "e"]]])
            let ear = try scene.keep(TrafficRecorder(at: scene.directory.path("ear.sock"), before: daemon.socketPath))
            daemon.socketPath = ear.path
            let console = scene.console(showing: daemon)
            try await console.start()
            let pages = [try await console.news(of: "/clients"), try await console.news(of: "/clients")]
            for page in pages { try await page.until("the console as a client") { $0.contains("headgate-console/") } }
            #expect(ear.received.count { $0 == "watch" } == 1)

            for page in pages { page.close() }
            try await eventually("the end of the watch") { ear.received.contains("unwatch") }
            #expect(try await console.ask("GET", "/healthz").body == "ok")
            #expect(ear.received.drop { $0 != "unwatch" } == ["unwatch", "status"])
        }
    }
}
