import HeadgateData
import Testing

@testable import HeadgateServer

/// Tests the faults and warnings of invalid configurations.
@Suite("Faults of settings")
struct SettingsFaultTests {
    static let dispatcher = #""dispatchers": {"d": {"kind": "file", "path": "f"}}"#

    @Test(
        "S2: faults of each section are reported with their paths",
        arguments: [
            (#""socket": 5"#, ["socket: must be a string"]),
            (#""socket": """#, ["socket: must be a path"]),
            (#""socket": "a\u0000b""#, ["socket: must be a path"]),
            (#""data_dir": []"#, ["data_dir: must be a string"]),
            (#""durability": "always""#, ["durability: must be one of: full, normal, memory"]),
            (#""durability": true"#, ["durability: must be one of: full, normal, memory"]),
            (#""limits": 1"#, ["limits: must be an object"]),
            (#""limits": {"max_depth": 0}"#, ["limits.max_depth: must be a whole number from 8 to 1024"]),
            (#""limits": {"max_depth": 1.5}"#, ["limits.max_depth: must be a whole number from 8 to 1024"]),
            (#""limits": {"max_depth": "64"}"#, ["limits.max_depth: must be a whole number from 8 to 1024"]),
            (#""limits": {"max_depth": 1e400}"#, ["limits.max_depth: must be a whole number from 8 to 1024"]),
            (
                #""access": {"observe": {"uids": [1000, -1, "root", 4294967295]}}"#,
                [1, 2, 3].map { "access.observe.uids[\($0)]: must be a whole number from 0 to 4294967294" }
            ),
            (#""access": {"serve": {"gids": 50}}"#, ["access.serve.gids: must be a list"]),
            (#""store": {"overflow": "drop"}"#, ["store.overflow: must be one of: reject, drop_oldest"]),
            (#""store": {"dedupe_ids": -1}"#, ["store.dedupe_ids: must be a whole number from 0 to 100000000"]),
            (#""store": {"retain": {}}"#, ["store.retain: must have `max_age_s`, `max_bytes` or both"]),
            (
                #""store": {"retain": {"max_age_s": 0}}"#,
                ["store.retain.max_age_s: must be a whole number from 1 to 315360000"]
            ),
            (#""log_format": "xml""#, ["log_format: must be one of: text, json"]),
            (#""trace": {"remember": -1}"#, ["trace.remember: must be a whole number from 0 to 10000000"]),
            (#""store": {"max_age_s": 0}"#, ["store.max_age_s: must be a whole number from 1 to 315360000"]),
            (
                #""shutdown_timeout_ms": -1"#,
                ["shutdown_timeout_ms: must be a whole number from 0 to 315360000000"]
            ),
            (#""flush_on": {"start": "yes"}"#, ["flush_on.start: must be true or false"]),
            (#""collectors": {"peer": 1}"#, ["collectors.peer: must be true or false"]),
        ])
    func sections(text: String, lines: [String]) throws {
        let reading = try SettingsReading.of("{\(Self.dispatcher), \(text)}")
        #expect(reading.findings.lines == lines)
        #expect(reading.settings == nil)
    }

    @Test("S2: all faults of a configuration are reported, not only the first")
    func allFaults() throws {
        let reading = try SettingsReading.of(
            #"""
            {"durability": "x", "store": {"max_events": 0},
             "dispatchers": {"all": {"kind": "file", "path": "f", "in_flight": 0}, "b": {"kind": "http"}},
             "barriers": {"BatchingBarrier": {"configuration": {"max_wait_ms": 0}}}}
            """#)
        #expect(
            reading.faults.map(\.path) == [
                "durability", "store.max_events", "dispatchers.all", "dispatchers.all.in_flight",
                "dispatchers.b.endpoint", "barriers.BatchingBarrier.configuration.max_wait_ms",
            ])
        #expect(reading.settings == nil)
    }

    @Test("S2: an unknown key in any section is a fault, whose message names the closest known key")
    func unknownKeys() throws {
        let reading = try SettingsReading.of(
            #"""
            {"dispatcher": {}, "limits": {"max_dept": 1}, "access": {"track": {}, "serve": {"user": []}},
             "dispatchers": {"d": {"kind": "file", "path": "f", "gzip": true, "backoff": {"base": 1}}},
             "barriers": {"BatchingBarrier": {"scope": "d", "scopes": "d", "configuration": {"size": 1}}}}
            """#)
        #expect(
            reading.findings.lines == [
                "limits.max_dept: unknown key; the closest known key is `max_depth`",
                "access.serve.user: unknown key; the closest known key is `users`",
                "access.track: unknown key; the closest known key is `read`",
                "dispatchers.d.backoff.base: unknown key; the closest known key is `base_ms`",
                "dispatchers.d.gzip: unknown key; the closest known key is `keep`",
                "barriers.BatchingBarrier.configuration.size: unknown key; the closest known key is `batch_size`",
                "barriers.BatchingBarrier.scope: unknown key; the closest known key is `scopes`",
                "dispatcher: unknown key; the closest known key is `dispatchers`",
            ])
        #expect(reading.settings == nil)
    }

    @Test("S2: an unknown key is a warning with `lenient`, or if only the remote layer has it")
    func forgivenKeys() throws {
        let lenient = try SettingsReading.of(#"{"lenient": true, "dispatchers": {}, "limits": {"max_dept": 9}}"#)
        #expect(lenient.settings != nil && lenient.warnings.map(\.path).contains("limits.max_dept"))
        let check = SettingsCheck(vocabulary: .builtIn, environment: [:])
        var layers = SettingsLayers()
        layers[.file] = ["dispatchers": ["d": ["kind": "file", "path": "f"]]]
        layers[.remote] = [
            "dispatchers": ["d": ["next": 1]], "transformations": [["scopes": [], "remove": [], "undo": 1]],
        ]
        let forgiven = check.read(layers)
        #expect(forgiven.settings != nil)
        #expect(
            forgiven.warnings.map(\.path).filter { $0 != "transformations[0].id" } == [
                "dispatchers.d.next", "transformations[0].undo",
            ])
        layers[.programmatic] = ["dispatchers": ["d": ["next": 2]]]
        #expect(check.read(layers).faults.map(\.path) == ["dispatchers.d.next"])
    }

    @Test(
        "S2: the closest known key has the smallest edit distance; a key that the text abbreviates is preferred",
        arguments: [
            ("per_sec", ["burst", "per_second", "flushable"], "per_second"),
            ("start_hours", ["end_hour", "start_hour"], "start_hour"),
            ("keep", ["base", "keel"], "keel"), ("dsipatchers", ["dispatchers", "barriers"], "dispatchers"),
        ])
    func closestName(name: String, known: [String], closest: String) {
        #expect(ClosestName.of(name, among: known) == closest)
        #expect(ClosestName.of(name, among: [String]()) == nil)
    }

    @Test("A null counts as absent")
    func null() throws {
        let reading = try SettingsReading.of(
            #"{"socket": null, "limits": null, "remote": null, "dispatchers": {"d": null}, "barriers": {"b": null}}"#)
        #expect(reading.settings == Settings())
    }

    @Test("Settings without a dispatcher cause a warning", arguments: ["{}", #"{"dispatchers": {}}"#])
    func noDispatcher(text: String) throws {
        #expect(
            try SettingsReading.of(text).findings.lines == ["dispatchers: warning: is empty, so no event is stored"])
    }

    @Test("A path of a socket that is longer than 107 bytes is a fault")
    func longSocketPath() throws {
        let longest = "/" + String(repeating: "x", count: 106)
        #expect(try SettingsReading.of(#"{"socket": "\#(longest)"}"#).settings?.socket == longest)
        let faults = try SettingsReading.of(#"{"socket": "\#(longest)x"}"#).faults
        #expect(faults.map(\.description) == ["socket: must be a path of at most 107 bytes"])
    }

    @Test("X2: settings may have at most 256 dispatchers and 256 barriers", arguments: [256, 257])
    func bounded(count: Int) throws {
        let dispatchers = (1...count).map { #""d\#($0)": {"kind": "file", "path": "f\#($0)"}"# }
        let barriers = (1...count).map { #""b\#($0)": {"kind": "BatchingBarrier", "configuration": {}}"# }
        let reading = try SettingsReading.of(
            #"{"dispatchers": {\#(dispatchers.joined(separator: ","))}, "barriers": {\#(barriers.joined(separator: ","))}}"#
        )
        let reported = ["dispatchers", "barriers"].map { "\($0): has at most 256 entries" }
        #expect(reading.faults.map(\.description) == (count > 256 ? reported : []))
    }

    @Test(
        "X2: the lengths of lists in settings are bounded",
        arguments: [
            ("load_rules", 1024), ("gateway.rules", 1024), ("network.interface_kinds", 1024), ("transformations", 1024),
            ("dispatchers.h.headers", 256), ("barriers.b.scopes", 256),
        ])
    func manyEntries(path: String, most: Int) throws {
        for count in [most, most + 1] {
            let reading = Settings.read(Self.settings(with: count, at: path))
            let reported = "\(path): has at most \(most) entries"
            #expect(reading.faults.map(\.description) == (count > most ? [reported] : []))
        }
    }

    /// Returns settings with this many entries in the list at a path.
    private static func settings(with count: Int, at path: String) -> DataObject {
        func entries(_ value: (Int) -> DataItem) -> DataItem {
            .object(DataObject((1...count).map { ("n\($0)", value($0)) }))
        }
        let condition: DataItem = ["operator": "is_defined", "path": "event"]
        return switch path {
        case "load_rules": ["load_rules": entries { _ in condition }]
        case "gateway.rules":
            ["gateway": ["rules": entries { $0 < count ? ["board": .string("n\($0 + 1)")] : "exempt" }]]
        case "network.interface_kinds": ["network": ["interface_kinds": entries { _ in "wifi" }]]
        case "transformations":
            [
                "transformations": .array(
                    (1...count).map { ["id": .string("n\($0)"), "scopes": "afterCollectors", "remove": ["data.x"]] })
            ]
        case "dispatchers.h.headers":
            ["dispatchers": ["h": ["kind": "http", "endpoint": "http://a", "headers": entries { _ in "1" }]]]
        default:
            [
                "barriers": [
                    "b": [
                        "kind": "BatchingBarrier", "scopes": .array((1...count).map { .string("n\($0)") }),
                        "configuration": [:],
                    ]
                ]
            ]
        }
    }
}
