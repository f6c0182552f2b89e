import Foundation
import Testing

/// State that programs may inherit from their parent: closed descriptors, blocked and ignored signals.
@Suite struct InheritanceTests {
    @Test(
        "Closed standard descriptors become /dev/null, so that no log line goes into another file or socket",
        arguments: ["2>&-", "<&- >&- 2>&-", "<&-", ">&- 2>&-"])
    func closedDescriptors(closed: String) async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            daemon.launcher = ["/bin/sh", "-c", #"exec "$@" \#(closed)"#, "sh"]
            try daemon.configure([:])
            let process = try daemon.launch()
            try await daemon.answers()
            let folder = "/proc/\(process.processIdentifier)/fd/"
            for descriptor in 0...2 {
                let target = try FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)\(descriptor)")
                #expect(target == "/dev/null" || target == daemon.logPath)
            }
            process.signal(SIGTERM)
            #expect(try await process.exitCode() == 0)
        }
    }

    @Test("The tools also open /dev/null for closed standard descriptors", arguments: ["<&-", "2>&-", "<&- 2>&-"])
    func closedDescriptorsOfTools(closed: String) async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(["dispatchers": ["archive": ["kind": "file", "path": "a.ndjson"]]])
            let output = scene.directory.path("out")
            let tool = try BuiltProducts.path(of: "headgate")
            let process = try ChildProcess(
                "/bin/sh",
                [
                    "-c", #"exec "$@" \#(closed)"#, "sh", tool, "send", "hello", "--id", "one", "--socket",
                    daemon.socketPath,
                ],
                outputPath: output, errorPath: output)
            #expect(try await process.exitCode() == 0)
            #expect(process.output.contains("one"))
        }
    }

    @Test("A daemon whose parent blocked and ignored signals still stops and reloads")
    func blockedSignals() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            daemon.launcher = [
                "/usr/bin/env", "--block-signal=TERM,INT,HUP,CHLD", "--ignore-signal=TERM,INT,HUP,CHLD", "--",
            ]
            try daemon.configure([:])
            try await daemon.start()
            daemon.process?.signal(SIGHUP)
            try await eventually("a reload") { daemon.log.contains("settings were read again") }
            #expect(try await daemon.stop() == 0)
        }
    }

    @Test("`headgate watch` stops although its parent blocked and ignored SIGTERM")
    func blockedSignalsOfWatch() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon([:])
            let (output, error) = (scene.directory.path("out"), scene.directory.path("error"))
            let process = try ChildProcess(
                "/usr/bin/env",
                [
                    "--block-signal=TERM", "--ignore-signal=TERM", try BuiltProducts.path(of: "headgate"), "watch",
                    "--socket", daemon.socketPath,
                ], outputPath: output, errorPath: error)
            try await eventually("the first lines") { !process.output.isEmpty }
            process.signal(SIGTERM)
            #expect(try await process.exitCode() == -SIGTERM)
        }
    }

    @Test("A console whose parent blocked and ignored signals still stops")
    func blockedSignalsOfConsole() async throws {
        try await withScene { scene in
            let log = scene.directory.path("console.log")
            let program = try BuiltProducts.path(of: "headgate-console")
            let process = try ChildProcess(
                "/usr/bin/env",
                [
                    "--block-signal=TERM", "--ignore-signal=TERM", "--", program, "--listen", "127.0.0.1:0", "--socket",
                    scene.directory.path("none"),
                ], outputPath: log, errorPath: log)
            try await eventually("a ready console") { process.errorOutput.contains("headgate-console ready") }
            process.signal(SIGTERM)
            #expect(try await process.exitCode() == 0)
        }
    }

    @Test(
        "A follower and a worker whose parent blocked and ignored SIGTERM still stop",
        arguments: [("file", ["send", "--follow", "lines"]), ("worker", ["worker", "collect", "--", "cat"])])
    func blockedSignalsOfTools(kind: String, command: [String]) async throws {
        try await withScene { scene in
            let settings: JSON = kind == "file" ? ["kind": "file", "path": "a.ndjson"] : ["kind": "worker"]
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let (lines, output) = (scene.directory.path("lines"), scene.directory.path("out"))
            try #"{"event":"hello"}"#.appending("\n").write(toFile: lines, atomically: true, encoding: .utf8)
            if kind == "worker" { try await daemon.track(1...1) }
            let process = try ChildProcess(
                "/usr/bin/env",
                [
                    "--block-signal=TERM", "--ignore-signal=TERM", "XDG_STATE_HOME=\(scene.directory.path("state"))",
                    try BuiltProducts.path(of: "headgate"), "--socket", daemon.socketPath,
                ] + command.map { $0 == "lines" ? lines : $0 }, outputPath: output, errorPath: output)
            try await daemon.dispatcher(until: "the event is delivered") { $0["sent"].int == 1 }
            process.signal(SIGTERM)
            #expect(try await process.exitCode() == 0)
        }
    }
}
