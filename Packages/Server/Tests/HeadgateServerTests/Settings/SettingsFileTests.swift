import Foundation
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Configuration files")
struct SettingsFileTests {
    /// Runs a test with a path of its own.
    private func withPath(_ test: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("headgate-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try test(directory.appendingPathComponent("headgate.json").path)
    }

    @Test("A file is read, whatever its length")
    func read() throws {
        try withPath { path in
            let value = String(repeating: "x", count: 200_000)
            try "{/* c */ \"a\": \"\(value)\"}".write(toFile: path, atomically: true, encoding: .utf8)
            #expect(try SettingsFile.read(path) == ["a": .string(value)])
        }
    }

    @Test("What cannot be read is told with its name and cause")
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

    @Test("A file that never ends is given up")
    func endless() {
        #expect(throws: SettingsFault(path: "", message: "/dev/zero is longer than 4194304 bytes")) {
            try SettingsFile.read("/dev/zero")
        }
    }
}
