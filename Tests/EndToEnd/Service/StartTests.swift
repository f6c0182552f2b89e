import Foundation
import Testing

/// Signals and special files while the daemon starts or reloads its configuration.
@Suite struct StartTests {
    /// Starts a daemon that waits in its start: its configuration is a pipe that nothing was written to.
    private func start(_ scene: Scene) async throws -> (daemon: Daemon, process: ChildProcess, pipe: FileHandle) {
        let daemon = scene.idleDaemon()
        _ = try SystemError.check(mkfifo(daemon.configurationPath, 0o600), "mkfifo")
        let process = try daemon.launch()
        let pipe = try await eventually("a daemon that reads its configuration") { () -> FileHandle? in
            // Opening fails while there is no reader.
            let descriptor = open(daemon.configurationPath, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            return descriptor < 0 ? nil : FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        }
        return (daemon, process, pipe)
    }

    @Test("S3: SIGHUP during the start is handled after it, and a pipe cannot be read again")
    func reloadDuringStart() async throws {
        try await withScene { scene in
            let (daemon, process, pipe) = try await start(scene)
            process.signal(SIGHUP)
            try pipe.write(contentsOf: Data(#"{"limits": {"max_depth": 32}}"#.utf8))
            try pipe.close()
            try await daemon.answers()
            try await eventually("the reload") {
                daemon.log.contains("settings are refused; the previous ones stay in force")
            }
            try await daemon.logs("is a pipe or a socket, which can be read only at the start")
            #expect(try await daemon.ask("config.get")["limits"]["max_depth"] == 32)
            process.signal(SIGTERM)
            #expect(try await process.exitCode() == 0)
        }
    }

    @Test("D11: a stop during the start ends the daemon at once, with 0", arguments: [SIGTERM, SIGINT])
    func stopDuringStart(signal: Int32) async throws {
        try await withScene { scene in
            let (_, process, pipe) = try await start(scene)
            process.signal(signal)
            #expect(try await process.exitCode() == 0)
            try pipe.close()
        }
    }
}
