import Foundation
import Testing

/// Notifications to the service manager that started the daemon (sd_notify(3), sd-daemon(3)).
@Suite struct ServiceManagerTests {
    @Test("The daemon notifies the manager of readiness, reloads and its stop")
    func life() async throws {
        try await withScene { scene in
            let manager = try NotifySocket(scene.directory.path("notify"))
            let daemon = scene.idleDaemon()
            try daemon.configure([:])
            daemon.environment["NOTIFY_SOCKET"] = manager.path
            try await daemon.start()
            #expect(try await manager.message().contains("READY=1"))
            daemon.process?.signal(SIGHUP)
            let reloading = try await manager.message()
            #expect(reloading.contains("RELOADING=1"))
            #expect(reloading.contains { $0.hasPrefix("MONOTONIC_USEC=") })
            #expect(try await manager.message().contains("READY=1"))
            #expect(try await daemon.stop() == 0)
            #expect(try await manager.message().contains("STOPPING=1"))
        }
    }

    @Test("The daemon serves the watchdog, even at an abstract address")
    func watchdog() async throws {
        try await withScene { scene in
            let manager = try NotifySocket("@" + scene.directory.path("notify"))
            let daemon = scene.idleDaemon()
            try daemon.configure([:])
            daemon.environment["NOTIFY_SOCKET"] = manager.path
            daemon.environment["WATCHDOG_USEC"] = "100000"
            try await daemon.start()
            #expect(try await manager.message().contains("READY=1"))
            for _ in 1...3 { #expect(try await manager.message() == ["WATCHDOG=1"]) }
        }
    }

    @Test("A watchdog for another process, or no manager, has no effect")
    func notForThisProcess() async throws {
        try await withScene { scene in
            let manager = try NotifySocket(scene.directory.path("notify"))
            let daemon = scene.idleDaemon()
            try daemon.configure([:])
            daemon.environment = ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"]
            try await daemon.start()
            #expect(try await manager.message().contains("READY=1"))
            #expect(try await daemon.stop() == 0)
            #expect(try await manager.message().contains("STOPPING=1"))
            daemon.environment = ["NOTIFY_SOCKET": "nowhere"]
            try await daemon.start()
            #expect(try await daemon.ask("ping") == [:])
        }
    }

    @Test("Protocol, Socket: the daemon serves an inherited socket, opens no other, and leaves the file")
    func socketActivation() async throws {
        try await withScene { scene in
            let path = scene.directory.path("activated.sock")
            let descriptor = try UnixSocket.listen(at: path)
            defer { close(descriptor) }
            // A client that connects before the daemon runs waits, and is served.
            let early = try await LineClient(path)
            let question = try await early.request("ping")
            let daemon = scene.idleDaemon()
            try daemon.configure([:])
            daemon.inherited = descriptor
            daemon.environment["LISTEN_FDS"] = "1"
            // LISTEN_PID must be the daemon's process id, which only the shell knows in advance.
            daemon.launcher = ["/bin/sh", "-c", #"LISTEN_PID=$$ exec "$@""#, "sh"]
            for id in ["1", "2"] {
                try await daemon.start()
                if id == "1" { #expect(try await early.answer(to: question)["result"] == [:]) }
                #expect(
                    try await LineClient(path).result("track", ["event": "x", "id": .string(id)])["id"].string == id)
                #expect(!FileManager.default.fileExists(atPath: daemon.socketPath))
                let settings = try await LineClient(path).result("config.get")
                #expect(settings["socket"].string == path)
                try await daemon.logs("headgated ready \(path)")
                #expect(try await daemon.stop() == 0)
                #expect(FileManager.default.fileExists(atPath: path))
            }
        }
    }

    @Test("Protocol, Socket: a removed inherited socket is recreated at its path")
    func removedActivation() async throws {
        try await withScene { scene in
            let path = scene.directory.path("activated.sock")
            let descriptor = try UnixSocket.listen(at: path)
            defer { close(descriptor) }
            let daemon = scene.idleDaemon()
            try daemon.configure([:])
            daemon.inherited = descriptor
            daemon.environment["LISTEN_FDS"] = "1"
            daemon.launcher = ["/bin/sh", "-c", #"LISTEN_PID=$$ exec "$@""#, "sh"]
            try await daemon.start()
            try FileManager.default.removeItem(atPath: path)
            daemon.socketPath = path
            try await daemon.answers()
            try await daemon.logs("the socket \(path) was removed; the daemon recreated it")
        }
    }

    @Test("Protocol, Socket: descriptors for another process are ignored")
    func foreignActivation() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            try daemon.configure([:])
            daemon.environment = ["LISTEN_FDS": "1", "LISTEN_PID": "1"]
            try await daemon.start()
            #expect(try await daemon.ask("ping") == [:])
        }
    }

    @Test("If standard error is the journal, each log entry begins with its level")
    func levels() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            try daemon.configure(["frobnicate": 1, "lenient": true])
            _ = FileManager.default.createFile(atPath: daemon.logPath, contents: nil)
            var status = stat()
            _ = try SystemError.check(stat(daemon.logPath, &status), "stat")
            daemon.environment["JOURNAL_STREAM"] = "\(status.st_dev):\(status.st_ino)"
            try await daemon.start()
            try await daemon.logs("<4>headgated: warning: frobnicate")
            try await daemon.killNow()
            // The variable may be left over from a parent with other output.
            daemon.environment["JOURNAL_STREAM"] = "1:1"
            let before = daemon.log.count
            try await daemon.start()
            #expect(daemon.log.dropFirst(before).contains("headgated: warning: frobnicate"))
            #expect(!daemon.log.dropFirst(before).contains("<4>"))
        }
    }
}

/// The service manager's end of `NOTIFY_SOCKET`.
private final class NotifySocket {
    let path: String
    private let descriptor: Int32

    /// - Parameter path: The path of the socket. An abstract name begins with `@`.
    init(_ path: String) throws {
        self.path = path
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        descriptor = try SystemError.check(socket(AF_UNIX, kind, 0), "socket")
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let bound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        _ = try SystemError.check(bound, "bind to \(path)")
    }

    deinit { close(descriptor) }

    /// Returns the lines of the next message.
    func message() async throws -> [String] {
        try await eventually("a message to the service manager") {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            guard count > 0 else { return nil }
            return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }
}
