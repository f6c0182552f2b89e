import Foundation
import Testing

/// The example of `Docs/Boards.md`, unchanged: the collector's dispatcher waits for a token.
@Suite struct LoginBoardTests {
    private static let settings: JSON = [
        "activation_barrier": ["board": "login"], "annotate_queued": true,
        "headers": ["Authorization": ["output": "token", "prefix": "Bearer "]],
    ]

    /// Starts a daemon whose dispatcher waits for a token, and the server that issues tokens.
    private func stage(_ scene: Scene, _ collector: Collector) async throws -> (daemon: Daemon, server: Collector) {
        let server = try scene.collector()
        server.answerAlways(.token("s3cret-one"))
        let daemon = try await scene.daemon(sendingTo: collector, LoginBoardTests.settings)
        return (daemon, server)
    }

    private func authorizations(_ collector: Collector) -> [String] {
        collector.requests.compactMap { $0.headers["authorization"] }
    }

    @Test("A9, B30: nothing is sent before the login process has a token, and then everything is sent with it")
    func waitsForToken() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let (daemon, server) = try await stage(scene, collector)
            try await daemon.track(1...3)
            let gate = try await daemon.barrier("ActivationGate:collect", until: "the barrier waits for the board") {
                $0["reason"] == "no client serves board login"
            }
            #expect(gate.contains(["word": "activation", "flushable": false, "states": ["collect": "closed"]]))
            #expect(try await daemon.dispatcher()["blocked_by"] == ["ActivationGate:collect"])
            #expect(collector.requests.isEmpty)
            let login = try LoginExample(scene, serving: daemon, loggingInAt: server)
            #expect(try await collector.acceptedIDs(atLeast: 3) == ["e1", "e2", "e3"])
            #expect(authorizations(collector) == ["Bearer s3cret-one"])
            #expect(collector.requests[0].events[0]["data"]["queue_reason"] == "activation")
            #expect(try JSON(parsing: server.requests[0].body) == ["user": "shop", "password": "s3cret-password"])
            try await daemon.track(4...4)
            try await collector.acceptedIDs(atLeast: 4)
            #expect(server.requests.count == 1)
            #expect(try await daemon.stop() == 0)
            #expect(try await login.process.exitCode() == 0)
        }
    }

    @Test("A9: after an expired token 401 makes the process log in again, and the events are sent again")
    func expiredToken() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let (daemon, server) = try await stage(scene, collector)
            server.answerNext(.token("s3cret-one"), .token("s3cret-two"))
            let login = try LoginExample(scene, serving: daemon, loggingInAt: server)
            try await daemon.track(1...1)
            try await collector.acceptedIDs(atLeast: 1)
            collector.answerNext(.status(401))
            try await daemon.track(2...3)
            let ids = try await collector.acceptedIDs(atLeast: 3)
            #expect(ids == ["e1", "e2", "e3"])
            #expect(authorizations(collector).filter { $0 == "Bearer s3cret-two" }.count >= 1)
            #expect(try await daemon.counter("dead") == 0)
            #expect(server.requests.count == 2)
            login.process.discard()
        }
    }

    @Test("A9: a second 401 with a new token is handled as D3 says")
    func wrongForGood() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let (daemon, server) = try await stage(scene, collector)
            collector.answerAlways(.status(401))
            let login = try LoginExample(scene, serving: daemon, loggingInAt: server)
            try await daemon.track(1...1)
            try await daemon.dispatcher(until: "the event is dead-lettered") { $0["dead"] == 1 }
            #expect(collector.requests.count == 2 && server.requests.count == 2)
            login.process.discard()
        }
    }

    @Test("A9: a failed login is shown with its reason, and repeated until it succeeds")
    func loginFails() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let (daemon, server) = try await stage(scene, collector)
            server.answerAlways(.status(500))
            let login = try LoginExample(scene, serving: daemon, loggingInAt: server)
            try await daemon.track(1...1)
            try await daemon.barrier("ActivationGate:collect", until: "the barrier shows the failure") {
                $0["reason"].string?.hasPrefix("board login failed: no token: HTTP Error 500") == true
            }
            #expect(collector.requests.isEmpty)
            server.answerAlways(.token("s3cret-one"))
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
            login.process.discard()
        }
    }

    @Test("A9: if the login process is killed during the login, another one takes over")
    func processKilled() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let (daemon, server) = try await stage(scene, collector)
            server.answerNext(.held)
            let first = try LoginExample(scene, serving: daemon, loggingInAt: server)
            try await daemon.track(1...1)
            try await server.requests(atLeast: 1)
            first.process.discard()
            let second = try LoginExample(scene, serving: daemon, loggingInAt: server)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
            #expect(authorizations(collector) == ["Bearer s3cret-one"])
            second.process.discard()
        }
    }

    @Test("A9: after a restart of the daemon the token is requested again")
    func restart() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let (daemon, server) = try await stage(scene, collector)
            let first = try LoginExample(scene, serving: daemon, loggingInAt: server)
            try await daemon.track(1...1)
            try await collector.acceptedIDs(atLeast: 1)
            try await daemon.killNow()
            _ = try await first.process.exitCode()
            try await daemon.start()
            try await daemon.track(2...2)
            try await daemon.barrier("ActivationGate:collect", until: "the barrier waits for the board") {
                $0["reason"] == "no client serves board login"
            }
            let second = try LoginExample(scene, serving: daemon, loggingInAt: server)
            // The first event is sent again if the kill came before its delivery was written.
            try await eventually("the second event") { collector.acceptedIDs.last == "e2" }
            #expect(Set(collector.acceptedIDs) == ["e1", "e2"])
            second.process.discard()
        }
    }

    @Test("X4: the token reaches the collector, and appears in no status, list, dead letter, log or stored answer")
    func secret() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let (daemon, server) = try await stage(scene, collector)
            collector.answerAlways(ScriptedAnswer(status: 422, body: "bad: Bearer s3cret-one, s3cret-one"))
            let login = try LoginExample(scene, serving: daemon, loggingInAt: server)
            try await daemon.track(1...1)
            try await daemon.dispatcher(until: "the event is dead-lettered") { $0["dead"] == 1 }
            #expect(authorizations(collector) == ["Bearer s3cret-one"])
            try await daemon.stop(havingHidden: "s3cret")
            for name in try FileManager.default.subpathsOfDirectory(atPath: daemon.dataPath) {
                let bytes = FileManager.default.contents(atPath: daemon.dataPath + "/" + name) ?? Data()
                #expect(bytes.range(of: Data("s3cret".utf8)) == nil, "\(name)")
            }
            login.process.discard()
        }
    }

    @Test("The example's configuration is valid")
    func configuration() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            let file = LoginExample.directory + "/headgate.json"
            let exitCode = try await daemon.run(arguments: ["--config", file, "--check"])
            #expect(exitCode == 0)
            #expect(!daemon.log.contains("warning"), "\(daemon.log)")
        }
    }

    @Test("headgate activate prints the board's output")
    func tool() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let (daemon, server) = try await stage(scene, collector)
            let none = try await CommandLineTool.run("activate", "login", on: daemon)
            #expect(none.exitCode == 1 && none.errorOutput == "headgate: no client serves board login\n")
            let login = try LoginExample(scene, serving: daemon, loggingInAt: server)
            let run = try await CommandLineTool.run("activate", "login", "--wait", "60000", on: daemon)
            #expect(run.exitCode == 0, "\(run.errorOutput)")
            let output = try run.json
            #expect(output == ["token": "s3cret-one"])
            server.answerAlways(.status(403))
            let refused = try await CommandLineTool.run("activate", "login", on: daemon)
            #expect(refused.exitCode == 1)
            #expect(refused.errorOutput == "headgate: board login: no token: HTTP Error 403: Scripted\n")
            login.process.discard()
        }
    }
}

/// The example of `Docs/Boards.md`: a process that logs in and provides a token.
private struct LoginExample {
    let process: ChildProcess

    static var directory: String {
        let tests = URL(fileURLWithPath: #filePath).pathComponents.reversed().drop { $0 != "Tests" }.dropFirst()
        return String(tests.reversed().joined(separator: "/").dropFirst()) + "/Docs/Examples/LoginBoard"
    }

    /// Starts the process for a daemon, with the server to log in at.
    init(_ scene: Scene, serving daemon: Daemon, loggingInAt server: Collector) throws {
        let password = try scene.directory.write("s3cret-password\n", to: "password")
        let output = scene.directory.path("login-\(UUID().uuidString)")
        process = try ChildProcess(
            "/usr/bin/python3",
            [Self.directory + "/login.py", daemon.socketPath, server.endpoint, "shop", password],
            outputPath: output + ".out", errorPath: output + ".err")
    }
}

extension ScriptedAnswer {
    fileprivate static func token(_ token: String) -> ScriptedAnswer {
        ScriptedAnswer(body: #"{"token": "\#(token)"}"#)
    }
}
