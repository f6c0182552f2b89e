import Foundation
import HeadgateClientTesting
import HeadgateData
import Testing

@testable import HeadgateCommands

/// Tests `headgate backup`.
@Suite(.timeLimit(.minutes(5))) struct BackupTests {
    private struct Piece {
        var file = "log/000001.log"
        var offset = 0
        var text: String
        var isLast = false

        func answer(to number: Int) -> String {
            let data = Base64.encode(Array(text.utf8))
            return #"{"jsonrpc":"2.0","id":\#(number),"result":{"backup":"b","file":"\#(file)","offset":\#(offset),"#
                + #""data":"\#(data)","end":\#(isLast)}}"#
        }
    }

    private static let whole = [
        Piece(text: "first "), Piece(offset: 6, text: ""), Piece(offset: 6, text: "file"),
        Piece(file: "log/000002.log", text: "second", isLast: true),
    ]

    private func script(_ pieces: [Piece]) -> ScriptedDaemon.Script {
        { request in .write(pieces[request.number - 1].answer(to: request.number)) }
    }

    private func withFolder(_ test: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await test(folder)
    }

    private func content(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("The pieces become files of a new directory, also in place of an empty one", arguments: [false, true])
    func directory(isThere: Bool) async throws {
        try await withFolder { folder in
            let path = folder + "/copy"
            if isThere { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }
            try await withDaemon(script: script(BackupTests.whole)) { daemon in
                let run = try await ToolRun.run(["backup", path], on: daemon)
                #expect(run.exitCode == .success, "\(run.errors)")
                #expect(run.output == "The backup in \(path) is complete: 16 bytes.\n")
                #expect(content(path + "/log/000001.log") == "first file")
                #expect(content(path + "/log/000002.log") == "second")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["copy"])
                let facts = try FileManager.default.attributesOfItem(atPath: path + "/log/000001.log")
                #expect(facts[.posixPermissions] as? Int == 0o600)
                let requested = await daemon.record.requests
                #expect(requested.map { $0.params.get(key: "backup", as: String.self) } == [nil, "b", "b", "b"])
            }
        }
    }

    @Test("A backup that breaks off, lacks a piece or names a strange file leaves nothing behind", arguments: 0..<3)
    func broken(fault: Int) async throws {
        let pieces = [
            [Piece(text: "first"), Piece(file: "log/../../x.log", text: "evil", isLast: true)],
            [Piece(text: "first"), Piece(offset: 6, text: "late", isLast: true)],
            [Piece(text: "first"), Piece(file: "settings.log", text: "x", isLast: true)],
        ][fault]
        try await withFolder { folder in
            try await withDaemon(script: script(pieces)) { daemon in
                let run = try await ToolRun.run(["backup", folder + "/copy"], on: daemon)
                #expect(run.exitCode == .failure)
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
            }
        }
    }

    @Test("A directory with content, a file and a symbolic link are refused before the daemon is asked")
    func refused() async throws {
        try await withFolder { folder in
            try "x".write(toFile: folder + "/file", atomically: true, encoding: .utf8)
            try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "/nowhere")
            try await withDaemon { daemon in
                for path in [folder, folder + "/file", folder + "/link"] {
                    let run = try await ToolRun.run(["backup", path], on: daemon)
                    #expect(run.exitCode == .failure && run.errors.contains("already exists"))
                }
                #expect(await daemon.record.requests.isEmpty)
            }
        }
    }

    @Test("A tar archive has a directory, the files, and an end")
    func archive() async throws {
        try await withDaemon(script: script(BackupTests.whole)) { daemon in
            let run = try await ToolRun.run(["backup", "-"], on: daemon)
            #expect(run.exitCode == .success, "\(run.errors)")
            // A directory, two files of one block each with their headers, and two empty blocks.
            #expect(run.output.utf8.count == 512 * 7)
            #expect(run.output.contains("log/\u{0}") && run.output.contains("first file\u{0}"))
        }
    }

    @Test("An entry of a tar archive has the expected bytes")
    func entry() {
        let entry = TarArchive.file("log/1", Array("abc".utf8), at: 8)
        #expect(entry.count == 1_024 && Array(entry[512..<515]) == Array("abc".utf8))
        let header = String(decoding: entry[..<512], as: UTF8.self)
        #expect(header.hasPrefix("log/1\u{0}"))
        let fields = header.dropFirst(100)
        #expect(fields.hasPrefix("0000600\u{0}0000000\u{0}0000000\u{0}00000000003\u{0}00000000010\u{0}"))
        #expect(header.dropFirst(257).hasPrefix("ustar\u{0}00"))
        let sum = entry[..<512].enumerated().reduce(0) { $0 + ((148..<156).contains($1.offset) ? 32 : Int($1.element)) }
        #expect(Int(header.dropFirst(148).prefix(6), radix: 8) == sum)
    }
}
