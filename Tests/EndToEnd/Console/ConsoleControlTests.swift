import Foundation
import Testing

/// Changes made through the console, and the right to make them (Protocol, The console; Behaviour O3).
@Suite struct ConsoleControlTests {
    private static let configuration: JSON = [
        "dispatchers": ["collect": ["kind": "file", "path": "events.ndjson"]], "flush_on": ["start": false],
        "store": ["retain": ["max_bytes": 1_048_576]],
    ]

    private func withConsole(
        _ arguments: String..., test: (ConsoleProcess, Daemon) async throws -> Void
    ) async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(Self.configuration)
            let console = scene.console(showing: daemon)
            if let argument = arguments.first { try await console.start(argument) } else { try await console.start() }
            try await test(console, daemon)
        }
    }

    @Test("O3: without --allow-control the console shows no forms, and answers changes with 403")
    func showsOnly() async throws {
        try await withConsole { console, daemon in
            #expect(try await console.post("/dispatchers/collect/pause").status == 403)
            #expect(try await console.get("/dispatchers/collect/rewind?to=1").status == 403)
            let page = try await console.get("/dispatchers/collect").body
            // The only form signs out.
            let forms = page.components(separatedBy: "method=\"post\"").dropFirst()
            #expect(forms.count == 1 && forms.allSatisfy { $0.hasPrefix(" action=\"/sign-out\"") })
            #expect(try await daemon.dispatcher()["state"] == "open")
        }
    }

    @Test("With --allow-control forms pause with a reason, and resume")
    func pause() async throws {
        try await withConsole("--allow-control") { console, daemon in
            let answer = try await console.post("/dispatchers/collect/pause", "reason=the+disk&flushable=yes")
            #expect(answer.status == 303 && answer.header("Location") == "/dispatchers/collect?done=pause")
            let barrier = try await daemon.barrier("ManualBarrier:collect")
            #expect(barrier["reason"] == "the disk" && barrier["flushable"] == true)
            let page = try await console.get("/dispatchers/collect?done=pause").body
            #expect(page.contains("Paused.") && page.contains("the disk"))
            #expect(try await console.post("/dispatchers/collect/resume").status == 303)
            #expect(try await daemon.dispatcher()["state"] == "open")
        }
    }

    @Test(
        "A form from another site is refused even with the token",
        arguments: ["http://evil.example", "null", "http://127.0.0.1:1", ""])
    func foreignOrigin(origin: String) async throws {
        try await withConsole("--allow-control") { console, daemon in
            let answer = try await console.post("/dispatchers/collect/pause", "", ["Origin": origin])
            #expect(answer.status == 403)
            #expect(try await console.post("/dispatchers/collect/pause", "", ["Authorization": ""]).status == 401)
            #expect(try await daemon.dispatcher()["state"] == "open")
        }
    }

    @Test("A purge requires typing the dispatcher's id")
    func purge() async throws {
        try await withConsole("--allow-control") { console, daemon in
            try await daemon.pause()
            try await daemon.track(1...3)
            #expect(try await console.post("/dispatchers/collect/purge", "confirm=other").status == 400)
            #expect(try await daemon.dispatcher()["pending"] == 3)
            let answer = try await console.post("/dispatchers/collect/purge", "confirm=collect")
            #expect(answer.header("Location") == "/dispatchers/collect?done=purge&count=3")
            #expect(try await daemon.dispatcher()["pending"] == 0)
        }
    }

    @Test("R2: the preview of a rewind shows the affected events and changes nothing, and a form confirms the rewind")
    func rewind() async throws {
        try await withConsole("--allow-control") { console, daemon in
            try await daemon.track(1...3)
            try await daemon.dispatcher(until: "all is delivered") { $0["sent"] == 3 && $0["pending"] == 0 }
            let preview = try await console.get("/dispatchers/collect/rewind?to=2").body
            #expect(preview.contains("<dt>events pending again</dt><dd>2</dd>"))
            #expect(preview.contains("name=\"to\" value=\"2\"") && preview.contains("received from"))
            #expect(try await daemon.dispatcher()["rewinds"] == 0)
            let future = try await console.get("/dispatchers/collect/rewind?to=99").body
            #expect(future.contains("in the future") && !future.contains("confirmed"))
            #expect(try await console.get("/dispatchers/none/rewind?to=1").body.contains("no dispatcher none"))
            #expect(try await console.post("/dispatchers/collect/rewind/confirmed", "").status == 400)
            let answer = try await console.post("/dispatchers/collect/rewind/confirmed", "to=2")
            #expect(answer.header("Location") == "/dispatchers/collect?done=rewind%2Fconfirmed&count=2")
            #expect(try await daemon.dispatcher()["rewinds"] == 1)
            try await daemon.dispatcher(until: "all is sent again") { $0["sent"] == 5 }
            #expect(try await console.get("/store").body.contains("Retained events"))
        }
    }

    @Test("An unknown dispatcher is answered with 404, and without the daemon with 503")
    func failures() async throws {
        try await withConsole("--allow-control") { console, daemon in
            #expect(try await console.post("/dispatchers/none/pause").status == 404)
            #expect(try await console.get("/dispatchers/none").status == 404)
            try await daemon.killNow()
            #expect(try await console.post("/dispatchers/collect/pause").status == 503)
        }
    }
}
