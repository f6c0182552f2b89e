import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("The settings of all layers at a start")
struct StartSettingsTests {
    private static let file: DataObject = ["dispatchers": ["collect": ["kind": "file", "path": "c"]]]

    private func resolve(
        file: DataObject = file, remote: DataObject? = nil, persisted: DataObject
    ) -> StartSettings.Outcome {
        let check = SettingsCheck(vocabulary: .builtIn, environment: [:])
        return StartSettings(check: check, file: file, program: [:], remote: remote, persisted: persisted).resolve()
    }

    @Test("S1: a persisted dispatcher may name a rule from the copy of remote settings")
    func readTogether() {
        let remote: DataObject = ["load_rules": ["sales": ["operator": "equals", "path": "event", "value": "sale"]]]
        let late: DataObject = ["dispatchers": ["late": ["kind": "file", "path": "l", "load_rule": "sales"]]]
        let outcome = resolve(remote: remote, persisted: late)
        #expect(outcome.reading.settings?.dispatcherIDs == ["collect", "late"])
        #expect(outcome.leftOut == [] && outcome.warnings == [])
        // If the rule is missing, only the dispatcher that names it is ignored.
        let without = resolve(persisted: late.patched(with: ["limits": ["max_depth": 9]]))
        #expect(without.reading.settings?.dispatcherIDs == ["collect"])
        #expect(without.reading.settings?.limits.maxDepth == 9)
        #expect(without.leftOut.map(\.part.path) == ["dispatchers.late"])
        #expect(without.warnings.map(\.path) == ["dispatchers.late"])
    }

    @Test(
        "S1: only the faulty persisted part is ignored",
        arguments: [
            (["limits": ["max_depth": 1, "max_line_bytes": 2048]], ["limits.max_depth"]),
            (["durability": "some", "limits": ["max_line_bytes": 2048]], ["durability"]),
            (
                ["dispatchers": ["gone": ["dispatch_limit": 3]], "limits": ["max_line_bytes": 2048]],
                ["dispatchers.gone"]
            ),
            (["colour": "red", "limits": ["max_line_bytes": 2048]], ["colour"]),
            (["remote": ["refresh_s": 5], "limits": ["max_line_bytes": 2048]], ["remote"]),
            (["transformations": [["id": "t"]], "limits": ["max_line_bytes": 2048]], ["transformations"]),
            (
                ["store": ["max_events": 0, "max_bytes": 0], "limits": ["max_line_bytes": 2048]],
                ["store.max_events", "store.max_bytes"]
            ),
        ] as [(DataObject, [String])])
    func parts(persisted: DataObject, leftOut: [String]) {
        let outcome = resolve(persisted: persisted)
        #expect(outcome.reading.settings?.limits.maxLineBytes == 2048)
        #expect(outcome.leftOut.map(\.part.path) == leftOut)
        #expect(outcome.warnings.count == leftOut.count)
    }

    @Test("S1: an invalid copy of remote settings is ignored, and all persisted settings are used")
    func faultyCopy() {
        let outcome = resolve(
            remote: ["dispatchers": ["collect": ["dispatch_limit": 0]]],
            persisted: [
                "dispatchers": ["collect": ["dispatch_limit": 7, "byte_limit": 700]], "shutdown_timeout_ms": 3,
            ])
        // The persisted settings override the invalid value of the copy.
        #expect(outcome.leftOut == [] && outcome.refusedRemote == nil)
        let worse = resolve(
            remote: ["dispatchers": ["collect": ["keep": -1]]],
            persisted: ["dispatchers": ["collect": ["byte_limit": 700]]])
        #expect(worse.refusedRemote != nil && worse.leftOut == [])
        #expect(worse.reading.settings?.dispatchers.first?.common.byteLimit == 700)
        #expect(
            worse.warnings.map(\.message).first?.hasPrefix("the local copy of the remote settings is ignored") == true)
    }

    @Test("S1: a fault in the configuration file prevents the start")
    func faultyFile() {
        let outcome = resolve(file: ["dispatchers": ["a": ["kind": "pigeon"]]], persisted: ["shutdown_timeout_ms": 3])
        #expect(outcome.reading.faults.map(\.path) == ["dispatchers.a.kind"])
    }

    @Test("S1: ignored settings apply as soon as they are valid, unless they were removed before")
    func comesBack() throws {
        let check = SettingsCheck(vocabulary: .builtIn, environment: [:])
        let late: DataObject = ["dispatchers": ["late": ["kind": "file", "path": "l", "load_rule": "sales"]]]
        let start = resolve(persisted: late)
        var waiting = PendingSettings(leftOut: start.leftOut)
        var layers = start.layers
        #expect(waiting.fullest(layers, check).waiting == waiting)
        layers[.remote] = ["load_rules": ["sales": ["operator": "equals", "path": "event", "value": "sale"]]]
        let fits = waiting.fullest(layers, check)
        #expect(fits.waiting == PendingSettings())
        #expect(fits.reading.settings?.dispatcherIDs == ["collect", "late"])
        // Settings that were set later take precedence.
        layers.patch(["dispatchers": ["late": ["path": "m"]]])
        let merged = waiting.fullest(layers, check).layers.effective
        #expect(
            merged["dispatchers"]?.get(as: DataObject.self)?["late"] == [
                "kind": "file", "path": "m", "load_rule": "sales",
            ])
        waiting.remove(["dispatchers": ["late": nil]])
        #expect(waiting == PendingSettings())
    }

    @Test("S1: refused remote settings are checked again when another layer changes")
    func remoteComesBack() {
        let check = SettingsCheck(vocabulary: .builtIn, environment: [:])
        let waiting = PendingSettings(remote: ["dispatchers": ["b": ["byte_limit": 9]]])
        var layers = SettingsLayers()
        layers[.file] = Self.file
        #expect(waiting.fullest(layers, check).waiting == waiting)
        layers[.file] = ["dispatchers": ["b": ["kind": "file", "path": "b"]]]
        let fits = waiting.fullest(layers, check)
        #expect(fits.waiting == PendingSettings() && fits.reading.settings?.dispatchers.first?.common.byteLimit == 9)
    }
}
