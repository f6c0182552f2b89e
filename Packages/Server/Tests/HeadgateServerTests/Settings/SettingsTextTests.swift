import Foundation
import HeadgateData
import HeadgateSeeds
import Testing

@testable import HeadgateServer

@Suite("Syntax faults of configuration files")
struct SettingsTextTests {
    @Test(
        "A syntax fault is reported with its line and column",
        arguments: [
            ("", "line 1, column 1: the text ends too early"),
            ("{", "line 1, column 2: the text ends too early"),
            ("{\n  \"a\": 1,\n}", "line 3, column 1: expected a name in quotes"),
            ("[1,]", "line 1, column 4: expected a value"),
            ("{\"a\" 1}", "line 1, column 6: expected `:`"),
            ("{\"a\": 1 \"b\": 2}", "line 1, column 9: expected `,` or `}`"),
            ("[1 2]", "line 1, column 4: expected `,` or `]`"),
            ("[1}", "line 1, column 3: expected `,` or `]`"),
            ("{} {}", "line 1, column 4: unexpected text after the value"),
            ("{\"ä\": x}", "line 1, column 7: expected a value"),
            ("{\r\n\"a\": tru}", "line 2, column 6: expected a value"),
            ("{\"a\": \"b\n}", "line 1, column 9: a string must end on its line, and have control characters escaped"),
            ("{\"a\": \"b", "line 1, column 9: a string has no closing quote"),
            (#"{"a": "\x"}"#, "line 1, column 9: unknown escape in a string"),
            (#"{"a": "\u12g4"}"#, "line 1, column 10: expected four hexadecimal digits"),
            ("[01]", "line 1, column 3: expected `,` or `]`"),
            ("[-]", "line 1, column 3: expected a digit"),
            ("[1.]", "line 1, column 4: expected a digit"),
            ("[1e+]", "line 1, column 5: expected a digit"),
            ("{} /* x", "line 1, column 4: unexpected text after the value (a comment is not closed)"),
            ("{\"a\": /* x", "line 1, column 7: expected a value (a comment is not closed)"),
        ])
    func positions(text: String, message: String) {
        #expect(throws: SettingsFault(path: "", message: message)) { try SettingsText.parse(Array(text.utf8)) }
    }

    @Test(
        "S2: a name that appears twice is a fault at its position",
        arguments: [
            (#"{"a": 1, "b": 2, "a": 3}"#, "a"),
            (#"{"dispatchers": {"c": {}, "d": {"x": 1, "\u0078": 2}}}"#, "dispatchers.d.x"),
            (#"{"transformations": [{}, {"id": 1, "id": 1}]}"#, "transformations[1].id"),
        ])
    func repeated(text: String, path: String) {
        #expect(throws: SettingsFault(path: path, message: "appears twice")) {
            try SettingsText.parse(Array(text.utf8))
        }
    }

    @Test("Invalid UTF-8, too deep nesting and a text that is not an object are reported as different faults")
    func kinds() {
        #expect(throws: SettingsFault(path: "", message: "must be an object: { … }")) {
            try SettingsText.parse(Array("[]".utf8))
        }
        #expect(throws: SettingsFault(path: "", message: "is not UTF-8")) {
            try SettingsText.parse(Array(#"{"a": ""#.utf8) + [0xFF] + Array(#""}"#.utf8))
        }
        let deep = #"{"a": "# + String(repeating: "[", count: 64) + String(repeating: "]", count: 64) + "}"
        #expect(throws: SettingsFault(path: "", message: "is nested deeper than 64")) {
            try SettingsText.parse(Array(deep.utf8))
        }
    }
}

@Suite("Configuration files")
struct SettingsFileTests {
    /// Runs a test with the path of a configuration file in a temporary folder.
    private func withPath(_ test: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("headgate-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try test(directory.appendingPathComponent("headgate.json").path)
    }

    @Test("A file of 200 KB is read completely")
    func read() throws {
        try withPath { path in
            let value = String(repeating: "x", count: 200_000)
            try "{/* c */ \"a\": \"\(value)\"}".write(toFile: path, atomically: true, encoding: .utf8)
            #expect(try SettingsFile.read(path) == ["a": .string(value)])
        }
    }

    @Test("A file that cannot be read is reported with its name and the cause")
    func unreadable() throws {
        try withPath { path in
            #expect(
                throws: SettingsFault(path: "", message: "\(path) cannot be read: No such file or directory")
            ) { try SettingsFile.read(path) }
            let directory = (path as NSString).deletingLastPathComponent
            #expect(throws: SettingsFault(path: "", message: "\(directory) cannot be read: Is a directory")) {
                try SettingsFile.read(directory)
            }
        }
    }

    @Test("Reading an endless file stops at the limit of 4 MiB")
    func endless() {
        #expect(throws: SettingsFault(path: "", message: "/dev/zero is longer than 4194304 bytes")) {
            try SettingsFile.read("/dev/zero")
        }
    }
}
