import Foundation
import Testing

/// A data directory belongs to one daemon, and other users cannot read it.
@Suite struct DataDirectoryTests {
    @Test("Q9: a second daemon on the same data directory fails with a clear message, and the first continues")
    func secondDaemonOnTheSameData() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let first = try await scene.daemon(sendingTo: collector)
            let second = scene.idleDaemon()
            try second.configure(["dispatchers": ["collect": collector.dispatcher()]])
            second.dataPath = first.dataPath
            #expect(try await second.run() > 0)
            #expect(second.log.contains(first.dataPath))
            #expect(!second.log.contains("headgated ready"))

            let ids = try await first.track(1...3)
            #expect(try await collector.acceptedIDs(atLeast: 3) == ids)
        }
    }

    @Test("A second daemon on the same socket fails with a clear message, and the first continues")
    func secondDaemonOnTheSameSocket() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let first = try await scene.daemon(sendingTo: collector)
            let second = scene.idleDaemon()
            try second.configure(["dispatchers": ["collect": collector.dispatcher()]])
            second.socketPath = first.socketPath
            #expect(try await second.run() == 1)
            #expect(second.log.contains(first.socketPath))
            #expect(!second.log.contains("headgated ready"))

            let ids = try await first.track(1...3)
            #expect(try await collector.acceptedIDs(atLeast: 3) == ids)
        }
    }

    @Test("A left-over socket without a listener is replaced")
    func leftOverSocket() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            try await daemon.killNow()
            let leftOver = try inode(of: daemon.socketPath)
            // A second link keeps the old socket, so that its inode is not reused.
            try FileManager.default.linkItem(atPath: daemon.socketPath, toPath: daemon.folder + "/old.sock")
            try await daemon.start()
            #expect(try await daemon.ask("ping") == [:])
            #expect(try inode(of: daemon.socketPath) != leftOver)
        }
    }

    @Test("Q9, X1: data files are 0600, the socket is 0660, its directory 0750")
    func modes() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon([
                "dispatchers": [
                    "collect": collector.dispatcher(), "archive": ["kind": "file", "path": "events.ndjson"],
                ]
            ])
            try await daemon.track(1...3)
            try await daemon.dispatcher("archive", until: "all is written") { $0["sent"].int == 3 }
            #expect(try mode(of: daemon.socketPath) == 0o660)
            #expect(try mode(of: (daemon.socketPath as NSString).deletingLastPathComponent) == 0o750)
            let files = try #require(FileManager.default.subpaths(atPath: daemon.dataPath))
            #expect(files.contains("events.ndjson"))
            for file in files {
                let path = daemon.dataPath + "/" + file
                var isDirectory: ObjCBool = false
                #expect(FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory))
                if !isDirectory.boolValue { #expect(try mode(of: path) == 0o600, "\(file)") }
            }
        }
    }

    @Test("An orderly stop removes the socket")
    func stopRemovesTheSocket() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            #expect(try await daemon.stop() == 0)
            #expect(!FileManager.default.fileExists(atPath: daemon.socketPath))
        }
    }

    @Test("A socket path that is too long is refused, not cut")
    func longSocketPath() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            try daemon.configure(["dispatchers": ["collect": scene.collector().dispatcher()]])
            daemon.socketPath = daemon.folder + "/" + String(repeating: "x", count: 120)
            #expect(try await daemon.run() > 0)
            try await daemon.logs("socket")
            #expect(!daemon.log.contains("headgated ready"))
        }
    }

    private func inode(of path: String) throws -> UInt64? {
        try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? UInt64
    }

    private func mode(of path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        let permissions = try #require(attributes[.posixPermissions] as? NSNumber)
        return permissions.intValue & 0o777
    }
}

/// A data directory with a damaged store.
@Suite struct DamagedFileTests {
    @Test(
        "Q8: a damaged store is renamed and reported, and the daemon continues with a new one and higher numbers",
        arguments: ["log": "log", "sqlite": "events.db"])
    func setAside(_ kind: String, _ name: String) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = scene.idleDaemon()
            try daemon.configure([
                "dispatchers": ["collect": collector.dispatcher()], "store": ["kind": .string(kind)],
            ])
            try await daemon.start()
            let before = try await daemon.ask("track", ["event": "before"])
            try await collector.acceptedIDs(atLeast: 1)
            #expect(try await daemon.stop() == 0)
            let damaged = Data(repeating: 0x5A, count: 8192)
            for file in try files(of: daemon, in: name) { try damage(daemon.dataPath + "/" + file, damaged) }

            try await daemon.start()
            let after = try await daemon.ask("track", ["event": "after"])
            #expect(try #require(after["seq"].int) > (try #require(before["seq"].int)))
            try await eventually("the later event") { collector.acceptedIDs.last == after["id"].string }
            let names = try FileManager.default.contentsOfDirectory(atPath: daemon.dataPath)
            let aside = try #require(names.first { $0.hasPrefix(name + ".damaged-") && !$0.contains("wal") })
            for file in try files(of: daemon, in: aside) {
                let found = FileManager.default.contents(atPath: daemon.dataPath + "/" + file)
                #expect(found?.prefix(damaged.count) == damaged)
            }
            let warnings = try await daemon.ask("status")["warnings"].description
            #expect(warnings.contains("damaged"), "\(warnings)")
        }
    }

    @Test("Q8, O4: an event that a start finds damaged is left out, counted and logged")
    func oneEvent() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            try daemon.configure(["dispatchers": ["print": ["kind": "worker"]]])
            try await daemon.start()
            try await daemon.track(1...1)
            _ = try await daemon.ask("track", ["event": "damaged", "data": ["text": "to be damaged"]])
            try await daemon.track(3...3)
            try await daemon.killNow()
            let holds = { (file: String) in
                FileManager.default.contents(atPath: daemon.dataPath + "/" + file)?.range(of: Data("to be".utf8))
            }
            let file = try #require(try files(of: daemon, in: "log").first { holds($0) != nil })
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: daemon.dataPath + "/" + file))
            try handle.seek(toOffset: UInt64(try #require(holds(file)).lowerBound))
            try handle.write(contentsOf: Data("!!".utf8))
            try handle.close()

            try await daemon.start()
            let status = try await daemon.ask("status")
            #expect(status["counters"]["quarantined"] == 1 && status["dispatchers"][0]["pending"] == 2)
            try await daemon.logs("and 1 event with them")
            try await daemon.logs("1 event cannot be read")
        }
    }

    /// Returns the files in a folder of the data directory, or the single file of that name.
    private func files(of daemon: Daemon, in name: String) throws -> [String] {
        guard name.hasPrefix("log") else { return [name] }
        return try FileManager.default.contentsOfDirectory(atPath: daemon.dataPath + "/" + name).map { "\(name)/\($0)" }
    }

    /// Overwrites the first bytes of a file.
    private func damage(_ path: String, _ bytes: Data) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.write(contentsOf: bytes)
        if !path.hasSuffix(".log") { try file.truncate(atOffset: UInt64(bytes.count)) }
        try file.close()
    }
}
