import Foundation
import Testing

/// Processes that do not read the daemon's output.
@Suite struct UnreadOutputTests {
    /// A command that starts a program whose standard error is an unread pipe.
    private static let launcher = ["/bin/sh", "-c", #"pipe=$1; shift; exec "$@" 2>"$pipe""#, "sh"]

    @Test("O4: a daemon with an unread standard error serves its clients, and reports dropped lines later")
    func daemon() async throws {
        try await withScene { scene in
            let pipe = try UnreadPipe(scene.directory.path("errors"))
            pipe.fill()
            let daemon = scene.idleDaemon()
            daemon.launcher = Self.launcher + [pipe.path]
            try daemon.configure([:])
            let process = try daemon.launch()
            try await daemon.answers()
            _ = try await daemon.ask("track", ["event": "e"])
            process.signal(SIGTERM)
            #expect(try await process.exitCode() == 0)
        }
    }

    @Test("O4: when standard error is read again one line reports the dropped lines, and a metric counts them")
    func readAgain() async throws {
        try await withScene { scene in
            let pipe = try UnreadPipe(scene.directory.path("errors"))
            pipe.fill()
            let daemon = scene.idleDaemon()
            daemon.launcher = Self.launcher + [pipe.path]
            try daemon.configure([:])
            let process = try daemon.launch()
            defer { process.discard() }
            try await daemon.answers()
            var round = 0
            try await eventually("a dropped line") {
                // Each wrong dispatcher writes one line. The lines differ, so that none is merged into a burst.
                round += 1
                let wrong = (1...200).map { ("dispatcher-\(round)-\($0)", JSON.object(["kind": "none"])) }
                try daemon.configure(["dispatchers": .object(Dictionary(uniqueKeysWithValues: wrong))])
                process.signal(SIGHUP)
                return try await daemon.droppedLines() > 0
            }
            let text = try await pipe.text(until: "standard error was not read")
            #expect(text.contains("headgated ready"))
            #expect(text.contains("warning: the log lost \(try await daemon.droppedLines()) lines"))
        }
    }

    @Test("A service manager that does not read its messages delays nothing")
    func serviceManager() async throws {
        try await withScene { scene in
            let path = scene.directory.path("notify")
            let manager = try UnixSocket.datagram(at: path)
            defer { close(manager) }
            let daemon = scene.idleDaemon()
            try daemon.configure([:])
            daemon.environment["NOTIFY_SOCKET"] = path
            try await daemon.start()
            for _ in 1...40 {
                daemon.process?.signal(SIGHUP)
                #expect(try await daemon.ask("ping") == [:])
            }
            #expect(try await daemon.stop() == 0)
        }
    }
}

extension Daemon {
    /// Waits until a launched daemon answers.
    func answers() async throws {
        try await eventually("an answer of the daemon") { (try? await ask("ping")) == [:] }
    }

    fileprivate func droppedLines() async throws -> Int {
        let metrics = try await ask("metrics")["metrics"].elements
        let metric = metrics.first { $0["name"] == "headgate_log_lines_dropped_total" }
        return metric?["samples"].elements.first?["value"].int ?? -1
    }
}
