import Foundation
import Testing

@testable import HeadgateConsole

/// Tests the file that stores the token (Protocol, The console).
@Suite("Token files")
struct TokenFileTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "hg-\(UUID().uuidString)")

    private func withFolder(_ test: (String) throws -> Void) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try test(folder.appending(path: "token").path)
    }

    @Test("A missing file is made with mode 0600, and the token in it stays; nothing else is left in the folder")
    func made() throws {
        try withFolder { path in
            let token = try TokenFile(path: path).token()
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(try TokenFile(path: path).token() == token)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["token"])
        }
    }

    @Test("An existing token is read, with white space around it", arguments: ["mine", "mine\n", "  mine \r\n"])
    func read(contents: String) throws {
        try withFolder { path in
            try contents.write(toFile: path, atomically: true, encoding: .utf8)
            chmod(path, 0o600)
            #expect(try TokenFile(path: path).token().text == "mine")
        }
    }

    @Test("X8: a token file that other users can read or change is refused, and a named pipe delays nothing")
    func open() throws {
        try withFolder { path in
            try "mine".write(toFile: path, atomically: true, encoding: .utf8)
            for mode: mode_t in [0o604, 0o620, 0o666] {
                chmod(path, mode)
                #expect(throws: TokenFile.Fault.self) { try TokenFile(path: path).token() }
            }
            unlink(path)
            mkfifo(path, 0o600)
            #expect(throws: TokenFile.Fault.self) { try TokenFile(path: path).token() }
        }
    }

    @Test("X8: a new token is never written through a symbolic link")
    func link() throws {
        try withFolder { path in
            let target = path + ".target"
            for link in [path, "\(path).\(getpid())"] {
                symlink(target, link)
                #expect(throws: TokenFile.Fault.self) { try TokenFile(path: path).token() }
                #expect(!FileManager.default.fileExists(atPath: target))
                unlink(link)
            }
        }
    }

    @Test("A file with no token in it is refused and left as it is", arguments: ["", "\n", "two words", "a;b"])
    func refused(contents: String) throws {
        try withFolder { path in
            try contents.write(toFile: path, atomically: true, encoding: .utf8)
            #expect(throws: TokenFile.Fault.self) { try TokenFile(path: path).token() }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == contents)
        }
    }

    @Test("A missing folder is a fault that names the file")
    func absentFolder() throws {
        let path = folder.appending(path: "none/token").path
        let fault = #expect(throws: TokenFile.Fault.self) { try TokenFile(path: path).token() }
        #expect(fault?.message.hasPrefix(path) == true)
    }
}
