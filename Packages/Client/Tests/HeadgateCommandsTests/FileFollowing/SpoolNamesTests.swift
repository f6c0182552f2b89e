import Foundation
import HeadgateEncryption
import Testing

@testable import HeadgateCommands

/// Tests the removal of a spool when encryption was switched on or off.
@Suite struct SpoolNamesTests {
    private final class Stage {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        let terminal = Terminal(
            input: 0, showsProgress: false, style: Style(isColoured: false), output: { _ in }, errors: { _ in })

        init() throws {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        static func keyring(encrypts: Bool) throws -> Keyring {
            Keyring(try EncryptionKeys("1 " + String(repeating: "01", count: 32)), encrypts: encrypts)
        }

        func names(_ keyring: Keyring?) -> SpoolNames {
            SpoolNames(beside: folder + "/state", FollowStorage(keyring: keyring), terminal)
        }

        /// Writes a line to a spool.
        /// - Returns: the position behind the line.
        func fill(_ path: String, _ keyring: Keyring?) throws -> FollowerPosition {
            var spool = try SpoolNames.open(path, keyring, terminal)
            let pipe = try OwnedDescriptor.pipe()
            #expect(write(pipe.writing.number, "one\n", 4) == 4)
            #expect(spool.take(1 << 20, isRest: false, from: pipe.reading.number) == nil)
            return try position(in: path, after: "one\n")
        }

        func position(in path: String, after text: String) throws -> FollowerPosition {
            var position = FollowerPosition(try #require(FollowedFile.identity(of: path)), prefix: "p")
            position.advance(over: Array(text.utf8))
            return position
        }
    }

    @Test("C4: the other spool is removed once its lines are settled, and not before", arguments: [false, true])
    func settled(isSwitchedOn: Bool) throws {
        let stage = try Stage()
        let names = stage.names(try Stage.keyring(encrypts: isSwitchedOn))
        #expect(names.present == (isSwitchedOn ? names.encrypted : names.plain))
        try names.removeOther(at: nil)
        let end = try stage.fill(names.other, isSwitchedOn ? nil : try Stage.keyring(encrypts: true))
        for position in [nil, try stage.position(in: names.other, after: "on")] {
            let fault = #expect(throws: FollowFault.self) { try names.removeOther(at: position) }
            #expect(fault?.description.contains("without \(isSwitchedOn ? "--key-file" : "--decrypt") until") == true)
        }
        try names.removeOther(at: end)
        #expect(FollowedFile.identity(of: names.other) == nil)
    }

    @Test("C4: a removed spool that a power failure brought back is removed again")
    func back() throws {
        let stage = try Stage()
        let names = stage.names(try Stage.keyring(encrypts: true))
        _ = try stage.fill(names.other, nil)
        try names.removeOther(at: try stage.fill(names.present, try Stage.keyring(encrypts: true)))
        #expect(FollowedFile.identity(of: names.other) == nil)
    }

    @Test("C4: without a key an encrypted spool stays, and the message names the option")
    func noKey() throws {
        let stage = try Stage()
        let names = stage.names(nil)
        let end = try stage.fill(names.encrypted, try Stage.keyring(encrypts: true))
        let fault = #expect(throws: FollowFault.self) { try names.removeOther(at: end) }
        #expect(fault?.description.contains("there is no key: use --key-file") == true)
        #expect(FollowedFile.identity(of: names.encrypted) != nil)
    }
}
