import Foundation
import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

/// Tests the permitted content (Behaviour X6) and sources (Behaviour S1) of remote settings.
@Suite("Remote settings")
struct LocalSettingTests {
    private func check(_ remote: DataObject) -> SettingsReading {
        var layers = SettingsLayers()
        layers[.file] = ["dispatchers": ["collect": ["kind": "file", "path": "a"]]]
        layers[.remote] = remote
        return SettingsCheck(vocabulary: .builtIn, environment: [:], dataDirectory: nil).read(layers)
    }

    @Test(
        "X6: remote settings that set or remove a setting of this machine are refused completely",
        arguments: [
            ("access", ["access": ["control": ["uids": [1234]]]]), ("access", ["access": .null]),
            ("remote", ["remote": ["url": "https://other"]]), ("socket", ["socket": "/tmp/s"]),
            ("data_dir", ["data_dir": "/tmp"]), ("durability", ["durability": "memory"]),
            ("store.kind", ["store": ["kind": "sqlite", "max_events": 5]]), ("store.kind", ["store": ["kind": .null]]),
            ("store.encryption", ["store": ["encryption": ["key_file": "/tmp/k"]]]), ("store", ["store": .null]),
            ("lenient", ["lenient": true]),
        ] as [(String, DataObject)])
    func refused(path: String, remote: DataObject) {
        let whole = remote.patched(with: ["limits": ["max_depth": 40]])
        var given = whole
        for (key, value) in remote { given[key] = value }
        #expect(check(given).settings == nil)
        #expect(check(given).faults.map(\.path) == [path])
    }

    @Test("X6: other remote settings are accepted, also limits of the store")
    func accepted() {
        let remote: DataObject = ["store": ["max_events": 5], "limits": ["max_depth": 40]]
        #expect(check(remote).settings?.store.maxEvents == 5)
    }

    @Test("X6: a start ignores a copy of remote settings that sets `access`, and uses persisted settings")
    func copy() {
        let start = StartSettings(
            check: SettingsCheck(vocabulary: .builtIn, environment: [:], dataDirectory: nil),
            file: ["dispatchers": ["collect": ["kind": "file", "path": "a"]]], program: [:],
            remote: ["access": ["control": ["uids": [1234]]]], persisted: ["access": ["observe": ["uids": [7]]]])
        let outcome = start.resolve()
        #expect(outcome.layers[.remote] == [:] && outcome.leftOut.isEmpty)
        #expect(outcome.reading.settings?.access.observe.uids == [7])
        #expect(outcome.reading.settings?.access.control.uids == [])
        #expect(outcome.warnings.contains { $0.message.contains("access") })
    }

    @Test(
        "S1: the URL of remote settings must use https, name this machine, or be allowed by `insecure`",
        arguments: [
            ("https://example.com/s", false, true), ("http://example.com/s", false, false),
            ("http://example.com/s", true, true), ("http://127.0.0.1:8/s", false, true),
            ("http://localhost/s", false, true), ("example.com", false, true),
        ])
    func schemes(url: String, insecure: Bool, isFine: Bool) {
        let remote: DataObject = ["url": .string(url), "insecure": .bool(insecure)]
        let faults = Settings.read(["remote": .object(remote)]).faults
        #expect(faults.isEmpty == isFine, "\(faults)")
        if !isFine { #expect(faults.map(\.path) == ["remote.url"]) }
    }

    @Test("X8: the copy of remote settings is never written through a symbolic link")
    func link() throws {
        let folder = try ScratchFolder()
        let name = RemoteSettingsCopy.name
        try folder.write("mine", to: "target")
        for link in [name, name + ".new"] { symlink(folder("target"), folder(link)) }
        let copy = RemoteSettingsCopy(directory: folder.path)
        copy.write(["limits": ["max_depth": 40]], tag: nil, url: "https://example.com")
        #expect(copy.read(url: "https://example.com")?.settings["limits"] == ["max_depth": 40])
        #expect(folder.text(of: "target") == "mine")
    }

    @Test("S1: requests for remote settings are at least a second apart, even if the URL changes")
    func pace() {
        let pace = RemotePace()
        let start = Instant(nanoseconds: 5_000_000_000)
        #expect(pace.earliest(at: start) == start)
        pace.requested(at: start)
        #expect(pace.earliest(at: start + .milliseconds(1)) == start + .seconds(1))
    }
}
