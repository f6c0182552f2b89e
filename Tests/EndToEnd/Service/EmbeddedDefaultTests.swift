import Foundation
import Testing

/// `headgated` without a configuration.
@Suite struct EmbeddedDefaultTests {
    @Test("Without a configuration events are written to $STATE_DIRECTORY/events.ndjson")
    func stateDirectory() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            daemon.environment = ["STATE_DIRECTORY": daemon.dataPath, "HEADGATE_SOCKET": daemon.socketPath]
            try await daemon.start(arguments: [])
            try await expectEvents(of: daemon, in: daemon.dataPath)
        }
    }

    @Test(
        "Without $STATE_DIRECTORY the folder is $XDG_STATE_HOME/headgate, and the socket is in $XDG_RUNTIME_DIR/headgate"
    )
    func userDirectories() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            daemon.environment = [
                "XDG_STATE_HOME": daemon.folder + "/state", "XDG_RUNTIME_DIR": daemon.folder + "/run",
            ]
            daemon.socketPath = daemon.folder + "/run/headgate/headgate.sock"
            try await daemon.start(arguments: [])
            try await expectEvents(of: daemon, in: daemon.folder + "/state/headgate")
        }
    }

    @Test("--socket and --data have precedence over the environment")
    func commandLineWins() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            daemon.environment = [
                "STATE_DIRECTORY": daemon.folder + "/other", "HEADGATE_SOCKET": daemon.folder + "/other.sock",
            ]
            try await daemon.start(arguments: ["--socket", daemon.socketPath, "--data", daemon.dataPath])
            try await expectEvents(of: daemon, in: daemon.dataPath)
            #expect(!FileManager.default.fileExists(atPath: daemon.folder + "/other"))
        }
    }

    @Test("The line `headgated ready` has the socket's path")
    func readyLine() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            try await daemon.start(arguments: ["--socket", daemon.socketPath, "--data", daemon.dataPath])
            let line = daemon.log.split(separator: "\n").first { $0.contains("headgated ready") }
            #expect(line?.contains(daemon.socketPath) == true)
        }
    }

    private func expectEvents(of daemon: Daemon, in directory: String) async throws {
        let dispatchers = try await daemon.ask("dispatcher.list")["dispatchers"].elements
        #expect(dispatchers.map { $0["id"] } == ["collect"])
        #expect(dispatchers.map { $0["kind"] } == ["file"])
        try await daemon.track(1...3)
        try await daemon.dispatcher(until: "all is written") { $0["sent"].int == 3 }
        let text = try String(contentsOfFile: directory + "/events.ndjson", encoding: .utf8)
        #expect(try text.split(separator: "\n").map { try JSON(parsing: String($0))["id"] } == ["e1", "e2", "e3"])
    }
}
