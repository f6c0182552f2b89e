import Foundation
import HeadgateData
import Testing

@testable import HeadgateServer

/// Compares the tables of `Docs/Configuration.md` with the keys that Headgate reads.
@Suite struct ConfigurationDocumentTests {
    /// A row of a table of the document.
    struct Row: CustomTestStringConvertible, Sendable {
        var key: String
        var defaultText: String
        var refused: String

        var testDescription: String { key }
    }

    private static let document = try? String(
        contentsOfFile: URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../../Docs/Configuration.md").standardized.path, encoding: .utf8)

    static let rows: [Row] = (document ?? "").split(separator: "\n").compactMap { line in
        let cells = line.components(separatedBy: "|")
        guard line.hasPrefix("| `"), cells.count == 6 else { return nil }
        return Row(key: code(cells[1]), defaultText: code(cells[2]), refused: code(cells[4]))
    }

    /// Returns the text between backquotes.
    private static func code(_ cell: some StringProtocol) -> String {
        cell.trimmingCharacters(in: CharacterSet(charactersIn: "` "))
    }

    /// Settings with every section and one entry of each kind, with the placeholder names of the document.
    private static let baseText = #"""
        {
          "flush_on": {}, "trace": {}, "collectors": {}, "store": {"retain": {"max_bytes": 1048576}, "encryption": {"key_file": "x"}}, "limits": {"rate": {"per_second": 1}}, "remote": {"url": "https://x", "headers": {"NAME": "x"}, "tls": {"cert_file": "x"}},
          "access": {
            "observe": {}, "read": {}, "control": {}, "serve": {}, "configure": {}, "shared_namespaces": {"NAMESPACE": {}}
          },
          "network": {"interface_kinds": {"NAME": "other"}, "probe": {"url": "https://x"}},
          "dispatchers": {
            "NAME": {"kind": "file", "path": "name", "backoff": {}, "activation_barrier": {"board": "b"}},
            "HTTP": {
              "kind": "http", "endpoint": "https://x", "headers": {"NAME": "x"}, "tls": {"cert_file": "x"},
              "retry_for_status_codes": {"418": true}
            },
            "OTLP": {
              "kind": "otlp", "endpoint": "https://x", "headers": {"NAME": "x"}, "tls": {"cert_file": "x"},
              "resource": {"NAME": 1}, "retry_for_status_codes": {"418": true}
            },
            "FILE": {"kind": "file", "path": "file"},
            "WORKER": {"kind": "worker", "workers": {}},
            "NATS": {
              "kind": "nats", "servers": ["nats://x"], "subject": "s", "stream": "s", "tls": {"cert_file": "x"}
            },
            "KAFKA": {
              "kind": "kafka", "brokers": ["x"], "topic": "t", "tls": {"cert_file": "x"},
              "sasl": {"mechanism": "PLAIN", "user": "x", "password_file": "x"}
            }
          },
          "barriers": {
            "NAME": {"kind": "BatchingBarrier"},
            "ConnectivityBarrier": {"configuration": {}},
            "BatchingBarrier": {"configuration": {}},
            "ScheduleBarrier": {"configuration": {"start_hour": 9, "end_hour": 17}},
            "IntervalBarrier": {"configuration": {"interval_ms": 60000, "open_ms": 100}},
            "ApplicationStatusBarrier": {"configuration": {}},
            "RateBarrier": {"configuration": {"per_second": 1, "burst": 1}}
          },
          "load_rules": {"NAME": {"operator": "equals", "path": "event", "value": "x"}},
          "transformations": [],
          "gateway": {"rules": {"PATTERN": "exempt"}}
        }
        """#

    private static func base() throws -> DataObject {
        try SettingsText.parse(Array(baseText.utf8))
    }

    @Test("The base settings of these tests have no fault")
    func usable() throws {
        #expect(Settings.read(try Self.base()).faults.isEmpty)
        #expect(Self.rows.count > 90)
    }

    @Test("The document has every key that Headgate reads, and no other")
    func keys() throws {
        let reader = SettingsReader(try Self.base())
        var settings = Settings()
        settings.read(reader, .builtIn)
        let documented = Set(Self.rows.map(\.path.withoutEntryName))
        let requested = Set(reader.requested.map(\.withoutEntryName))
        let missing = requested.filter { requested in
            !documented.contains { $0 == requested || $0.hasPrefix(requested + ".") || requested.isBelow($0) }
        }
        #expect(missing.isEmpty)
        let superfluous = documented.filter { !requested.contains($0) && !$0.contains(".configuration.") }
        #expect(superfluous.isEmpty)
    }

    @Test("The documented default of a key is its default", arguments: rows.filter { !$0.defaultText.isEmpty })
    func documentedDefault(row: Row) throws {
        let value = try DataItem(parsing: Array(row.defaultText.utf8))
        let reading = Settings.read(try Self.base().patched(with: row.patch(value)))
        #expect(reading.faults.isEmpty)
        // The configuration of a barrier is kept as written, so a written default makes a difference.
        guard !row.key.contains(".configuration.") else { return }
        let isDefault = try reading.settings == Settings.read(Self.base()).settings
        #expect(isDefault)
    }

    @Test("The documented example of a refused value is refused", arguments: rows)
    func refused(row: Row) throws {
        let value = try SettingsText.parse(Array(#"{"value": \#(row.refused)}"#.utf8))["value"] ?? .null
        let faults = Settings.read(try Self.base().patched(with: row.patch(value))).faults
        #expect(faults.contains { $0.path == row.path || $0.path.isBelow(row.path) }, "\(faults)")
    }
}

extension ConfigurationDocumentTests.Row {
    /// The key path with an example in place of the placeholder `CODE`.
    var path: String { key.replacing(".CODE", with: ".418") }

    /// Returns settings with only this key and a value.
    func patch(_ value: DataItem) -> DataObject {
        var steps = path.split(separator: ".").map(String.init)
        let last = steps.removeLast()
        return steps.reversed().reduce([last: value] as DataObject) { [$1: .object($0)] }
    }
}

extension String {
    /// The key path with `NAME` for a dispatcher or barrier, because the document lists their common members once.
    fileprivate var withoutEntryName: String {
        let steps = split(separator: ".", maxSplits: 2)
        guard steps.count > 1, ["dispatchers", "barriers"].contains(steps[0]) else { return self }
        return ([steps[0], "NAME"] + steps.dropFirst(2)).joined(separator: ".")
    }

    /// Returns true if this path is inside another one.
    fileprivate func isBelow(_ path: String) -> Bool {
        hasPrefix(path + ".") || hasPrefix(path + "[")
    }
}
