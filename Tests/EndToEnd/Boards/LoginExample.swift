import Foundation

/// The example of `Docs/Boards.md`: a process that logs in and hands out a token.
struct LoginExample {
    let process: ChildProcess

    static var directory: String {
        let tests = URL(fileURLWithPath: #filePath).pathComponents.reversed().drop { $0 != "Tests" }.dropFirst()
        return String(tests.reversed().joined(separator: "/").dropFirst()) + "/Docs/Examples/LoginBoard"
    }

    /// Starts it for a daemon, logging in at a server.
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
    static func token(_ token: String) -> ScriptedAnswer {
        ScriptedAnswer(body: #"{"token": "\#(token)"}"#)
    }
}
