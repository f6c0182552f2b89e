import Foundation
import HeadgateData
import HeadgateEncryption
import HeadgateStore
import Testing

@testable import HeadgateServer

@Suite("Settings of encryption") struct EncryptionSettingsTests {
    private func reading(_ encryption: DataItem, kind: String = "log") -> SettingsReading {
        Settings.read(["store": ["kind": .string(kind), "encryption": encryption]])
    }

    private func paths(_ encryption: DataItem, kind: String = "log") -> [String] {
        reading(encryption, kind: kind).faults.map(\.path)
    }

    private let text = "7 " + String(repeating: "07", count: 32) + "\n"

    @Test("C1: settings must name exactly one source of keys")
    func source() {
        #expect(paths(["key_file": "/k"]) == [])
        #expect(paths(["key_env": "K", "enabled": false]) == [])
        #expect(paths(["key_credential": "k"]) == [])
        #expect(paths([:]) == ["store.encryption"])
        #expect(paths(["key_file": "/k", "key_env": "K"]) == ["store.encryption"])
        #expect(paths(["key_credential": "a/b"]) == ["store.encryption.key_credential"])
        #expect(paths(["key_file": "/k", "key": "secret"]) == ["store.encryption.key"])
    }

    @Test("C1: encryption of a store of kind sqlite is a fault")
    func sqlite() {
        #expect(paths(["key_file": "/k"], kind: "sqlite") == ["store.encryption"])
    }

    @Test("C1: the section is shown as written, and a change takes effect at the next start")
    func shown() throws {
        let (file, variable) = (reading(["key_file": "/k"]).settings, reading(["key_env": "K"]).settings)
        let (old, new) = (try #require(file), try #require(variable))
        #expect(old.encryption?.object == ["key_file": "/k", "enabled": true])
        #expect(StartOnlySetting.changed(from: old, to: new) == [.encryption])
        let merged = DataObject(dataItem: ["store": ["encryption": ["key_env": "K"]]])?
            .patched(with: StartOnlySetting.encryption.patch(of: old))
        #expect(Settings.read(try #require(merged)).settings?.encryption == old.encryption)
    }

    @Test("C1: keys are read from a file, a credential or a variable; faults never contain a key")
    func keys() throws {
        let folder = NSTemporaryDirectory() + "/headgate-keys-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/k"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let environment = [
            "K": text.trimmingCharacters(in: .newlines) + ",8" + text.dropFirst(), "CREDENTIALS_DIRECTORY": folder,
        ]
        func keys(_ encryption: DataItem, _ environment: [String: String] = environment) throws -> [Int] {
            try #require(reading(encryption).settings?.encryption).keys(environment).numbers
        }
        #expect(try keys(["key_file": .string(path)]) == [7])
        #expect(try keys(["key_credential": "k"]) == [7])
        #expect(try keys(["key_env": "K"]) == [7, 8])
        for encryption in [["key_file": "/none"], ["key_credential": "none"], ["key_env": "NONE"]] as [DataItem] {
            let fault = #expect(throws: StartFault.self) { try keys(encryption) }
            #expect(fault?.path == "store.encryption")
        }
        #expect(throws: StartFault.self) { try keys(["key_credential": "k"], [:]) }
        try "7 0707\n".write(toFile: path, atomically: true, encoding: .utf8)
        let fault = #expect(throws: StartFault.self) { try keys(["key_file": .string(path)]) }
        #expect(fault?.message.contains("0707") == false)
    }

    @Test("C1: a key file that other users may read is recognised as exposed")
    func exposed() throws {
        let path = NSTemporaryDirectory() + "/headgate-key-" + UUID().uuidString
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let settings = try #require(reading(["key_file": .string(path)]).settings?.encryption)
        for (mode, isExposed) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            #expect(settings.isExposed([:]) == isExposed)
        }
    }

    @Test("C1: config.set cannot persist the section, because the start needs keys to read persisted settings")
    func persisted() {
        #expect(PersistedSettings.faults(of: ["store": ["encryption": .null]]).map(\.path) == ["store.encryption"])
        #expect(PersistedSettings.faults(of: ["store": ["max_events": 5]]) == [])
    }

    @Test("C1: persisted settings and the copy of remote settings are rewritten encrypted when there is a key")
    func files() throws {
        let folder = NSTemporaryDirectory() + "/headgate-settings-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let settings: DataObject = ["store": ["max_events": 4_711]]
        func contents() -> [String] {
            [PersistedSettings.name, RemoteSettingsCopy.name].map {
                String(decoding: FileManager.default.contents(atPath: folder + "/" + $0) ?? Data(), as: UTF8.self)
            }
        }
        func files(_ keyring: Keyring?) -> (PersistedSettings, RemoteSettingsCopy) {
            (
                PersistedSettings(directory: folder, on: SystemDisk(), keyring: keyring),
                RemoteSettingsCopy(directory: folder, keyring: keyring)
            )
        }
        let plain = files(nil)
        try plain.0.write(settings)
        plain.1.write(settings, tag: "t", url: "u")
        #expect(contents().allSatisfy { $0.contains("4711") })
        let keyring = Keyring(try EncryptionKeys(text), encrypts: true)
        let sealed = files(keyring)
        try sealed.0.rekey()
        sealed.1.rekey()
        #expect(contents().allSatisfy { !$0.contains("4711") && $0.hasPrefix("hgatefil") })
        #expect(try sealed.0.read() == settings && sealed.1.read(url: "u")?.settings == settings)
        #expect(try plain.0.read() == nil && plain.1.read(url: "u") == nil)
        // An encrypted file that was copied to another file's name counts as damaged.
        try FileManager.default.removeItem(atPath: folder + "/" + RemoteSettingsCopy.name)
        try FileManager.default.copyItem(
            atPath: folder + "/" + PersistedSettings.name, toPath: folder + "/" + RemoteSettingsCopy.name)
        #expect(sealed.1.read(url: "u") == nil)
    }
}
