import Foundation
import Testing

/// The encryption of a real daemon's data directory.
@Suite struct EncryptionTests {
    private func key(_ number: Int) -> String { "\(number) " + String(repeating: "\(number)f", count: 32) + "\n" }

    /// Returns the files below a directory that contain a text.
    private func findings(of text: String, below directory: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: directory).filter { name in
            let content = FileManager.default.contents(atPath: directory + "/" + name) ?? Data()
            return content.range(of: Data(text.utf8)) != nil
        }
    }

    private func write(_ keys: String, for daemon: Daemon) throws -> String {
        let path = daemon.folder + "/store.keys"
        try keys.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    private func configuration(_ collector: Collector, _ encryption: JSON?) -> JSON {
        var configuration: JSON = ["dispatchers": ["collect": collector.dispatcher([:])]]
        if let encryption { configuration = configuration.merging(["store": ["encryption": encryption]]) }
        return configuration
    }

    /// Waits until the whole store is encrypted with the present key.
    private func expectRewritten(_ daemon: Daemon) async throws {
        try await eventually("a store under one key") {
            let found = try await daemon.ask("status")["store"]["encryption"]
            return found["bytes_left"] == 0 && found["rewriting"] == false
        }
    }

    /// Starts a daemon that encrypts with key 1.
    /// - Returns: the daemon and the path of its key file.
    private func encrypted(_ scene: Scene, _ collector: Collector) async throws -> (Daemon, String) {
        let daemon = try await scene.daemon(sendingTo: collector)
        let path = try write(key(1), for: daemon)
        _ = try await daemon.stop()
        try daemon.configure(configuration(collector, ["key_file": .string(path)]))
        try await daemon.start()
        return (daemon, path)
    }

    private func doctor(_ daemon: Daemon) async throws -> [JSON] {
        let run = try await CommandLineTool.run("doctor", "--json", on: daemon)
        return try run.json["findings"].elements.filter { $0["subject"] == "encryption" }
    }

    @Test("C1, C2, C3: switching encryption on encrypts the stored events, which only the key makes readable")
    func switchedOn() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.pause()
            for number in 1...20 { try await daemon.track(number...number, data: ["user": "ada-lovelace"]) }
            _ = try await daemon.stop()
            #expect(try !findings(of: "ada-lovelace", below: daemon.dataPath).isEmpty)

            let path = try write(key(1), for: daemon)
            try daemon.configure(configuration(collector, ["key_file": .string(path)]))
            try await daemon.start()
            try await expectRewritten(daemon)
            for number in 21...30 { try await daemon.track(number...number, data: ["user": "ada-lovelace"]) }
            #expect(try findings(of: "ada-lovelace", below: daemon.dataPath) == [])
            #expect(try await doctor(daemon).map { $0["words"] } == ["the store is encrypted with key 1"])
            try await daemon.killNow()

            try daemon.configure(configuration(collector, nil))
            #expect(try await daemon.run() == 1)
            try await daemon.logs("is encrypted with key 1, and there is no key")
            let locked = try await CommandLineTool.run(
                program: BuiltProducts.path(of: "headgated"), ["--verify", daemon.dataPath], in: daemon.folder)
            #expect(locked.output.contains("only the checksums") && locked.output.hasSuffix("no damage found\n"))
            try daemon.configure(configuration(collector, ["key_file": .string(path)]))
            let verified = try await CommandLineTool.run(
                program: BuiltProducts.path(of: "headgated"),
                ["--verify", daemon.dataPath, "--config", daemon.configurationPath], in: daemon.folder)
            #expect(verified.output.contains("  collect: 30 pending"))

            try await daemon.start()
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 30) == (1...30).map { "e\($0)" })
        }
    }

    @Test("C2: a new key is used without a restart, and the old one is not needed once everything is rewritten")
    func rekeyed() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let (daemon, path) = try await encrypted(scene, collector)
            try await daemon.pause()
            try await daemon.track(1...5)
            _ = try write(key(2), for: daemon)
            let refused = try await CommandLineTool.run("rekey", on: daemon)
            #expect(refused.exitCode == 1 && refused.errorOutput.contains("still under key 1"))
            _ = try write(key(2) + key(1), for: daemon)
            let run = try await CommandLineTool.run("rekey", on: daemon)
            #expect(run.exitCode == 0 && run.output.contains("under key 2"), "\(run.errorOutput)")
            try await expectRewritten(daemon)
            _ = try write(key(2), for: daemon)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            #expect(try await doctor(daemon).map { $0["verdict"] } == ["fine", "wrong"])
            try await daemon.killNow()
            try await daemon.start()
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 5) == (1...5).map { "e\($0)" })
        }
    }

    @Test("C2: a start without the key of persisted settings is refused, without a message about ignored settings")
    func persistedSettings() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let (daemon, path) = try await encrypted(scene, collector)
            _ = try await daemon.ask("config.set", ["patch": ["trace": ["remember": 9]], "persist": true])
            _ = try await daemon.stop()
            _ = try write(key(2), for: daemon)
            for (encryption, words) in [
                (nil, "and there is no key: use store.encryption"),
                (["key_file": .string(path)], "which is not among the keys of store.encryption"),
            ] as [(JSON?, String)] {
                try daemon.configure(configuration(collector, encryption))
                #expect(try await daemon.run() == 1)
                try await daemon.logs("persisted-settings.json is encrypted with key 1, \(words)")
                #expect(!daemon.log.contains("ignored"))
            }
        }
    }

    @Test("C1: a store that cannot encrypt, and a missing key, are faults at their path")
    func faults() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let path = try write(key(1), for: daemon)
            let sqlite: JSON = ["kind": "sqlite", "encryption": ["key_file": .string(path)]]
            _ = try await daemon.stop()
            for (store, words) in [
                (sqlite, "store.encryption: needs the store of kind log"),
                (
                    ["encryption": ["key_file": .string(path + ".gone")]],
                    "store.encryption: \(path).gone cannot be read"
                ),
                (["encryption": [:]], "store.encryption: must have exactly one of"),
            ] as [(JSON, String)] {
                try daemon.configure(["dispatchers": [:], "store": store])
                #expect(try await daemon.run() == 1)
                try await daemon.logs(words)
            }
        }
    }
}
