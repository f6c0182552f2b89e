import Foundation
import Testing

/// Files that are removed while the daemon runs, as a cleaner of temporary files does.
@Suite struct TakenAwayTests {
    @Test(
        "P1, Q8: after its log was removed or truncated the daemon acknowledges only events that survive a kill",
        arguments: [false, true])
    func log(isTruncated: Bool) async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(["dispatchers": ["collect": ["kind": "worker"]]])
            try await daemon.track(1...20)
            let log = daemon.dataPath + "/log"
            if isTruncated {
                for name in try FileManager.default.contentsOfDirectory(atPath: log) {
                    _ = try SystemError.check(truncate("\(log)/\(name)", 0), "truncate")
                }
            } else {
                try FileManager.default.removeItem(atPath: log)
            }
            var acknowledged: [String] = []
            let client = try await daemon.connect()
            for number in 21...70 {
                let question = try await client.request(
                    "track", ["event": "e", "id": .string("e\(number)")])
                if try await client.answer(to: question)["result"] != .null { acknowledged.append("e\(number)") }
            }
            try await daemon.logs("were removed or truncated, and 20 events were lost")
            try await daemon.killNow()
            try await daemon.start()
            let left = try await daemon.ask("queue.peek", ["dispatcher": "collect", "limit": 100])["events"].elements
            #expect(left.compactMap { $0["id"].string } == acknowledged)
            #expect(acknowledged.count >= 49)
        }
    }

    @Test("A removed socket is recreated and logged, and open connections stay")
    func socket() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon([:])
            let early = try await daemon.connect()
            _ = try await early.result("ping")
            try FileManager.default.removeItem(atPath: (daemon.socketPath as NSString).deletingLastPathComponent)
            try await daemon.answers()
            #expect(try await early.result("ping") == [:])
            try await daemon.logs("the socket \(daemon.socketPath) was removed; the daemon recreated it")
            #expect(try await daemon.stop() == 0)
            #expect(!FileManager.default.fileExists(atPath: daemon.socketPath))
        }
    }

    @Test("X1: the daemon's user need not be able to read the socket's folder", .enabled(if: geteuid() == 0))
    func unreadableFolder() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            try daemon.configure([:])
            let otherUser: UInt32 = 65_534
            let folder = daemon.folder + "/run"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for path in [daemon.folder, folder] {
                _ = try SystemError.check(chown(path, otherUser, otherUser), "chown \(path)")
            }
            _ = try SystemError.check(chmod(folder, 0o300), "chmod")
            _ = try SystemError.check(chmod(scene.directory.path, 0o755), "chmod")
            daemon.launcher = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
            try await daemon.start()
            #expect(try await daemon.ask("ping") == [:])
            #expect(try await daemon.stop() == 0)
        }
    }
}
