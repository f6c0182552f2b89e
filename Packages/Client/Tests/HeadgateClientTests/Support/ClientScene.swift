import Foundation
import HeadgateClient
import HeadgateClientTesting

/// A scripted daemon on a socket in its own directory. The directory is removed when the test ends.
final class ClientScene: Sendable {
    let daemon: ScriptedDaemon
    private let directory: String

    init(script: @escaping ScriptedDaemon.Script = { _ in .answer }) throws {
        // Short, since a socket's path must be short.
        directory = "/tmp/headgate-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        daemon = try ScriptedDaemon(path: directory + "/d.sock", script: script)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Returns a client of the daemon, which retries a connection after at most 20 ms.
    func client(_ change: (inout ClientOptions) -> Void = { _ in }) throws -> HeadgateClient {
        var options = ClientOptions()
        options.connectTimeout = nil
        options.onWarning = nil
        options.backoffBase = .milliseconds(1)
        options.backoffCap = .milliseconds(20)
        change(&options)
        return try HeadgateClient(socketPath: daemon.path, name: "test", version: "1.2", options: options)
    }
}

/// Runs a test with a daemon that listens, and kills it at the end.
func withDaemon(
    script: @escaping ScriptedDaemon.Script = { _ in .answer }, _ test: (ClientScene) async throws -> Void
) async throws {
    let scene = try ClientScene(script: script)
    try await scene.daemon.start()
    try await test(scene)
    await scene.daemon.kill()
}
