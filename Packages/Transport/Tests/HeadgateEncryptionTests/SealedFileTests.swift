import Testing

@testable import HeadgateEncryption

@Suite("Encrypted files") struct SealedFileTests {
    private func ring(_ numbers: Int..., encrypts: Bool = true) throws -> Keyring {
        let lines = numbers.map { "\($0) " + String(repeating: "0\($0)", count: 32) + "\n" }
        return Keyring(try EncryptionKeys(lines.joined()), encrypts: encrypts)
    }

    private let content = Array("a secret text".utf8)

    @Test("C1: a file is read with its key and its name, and a change of any byte is damage")
    func damage() throws {
        let bytes = SealedFile.bytes(content, as: "name", under: try ring(1))
        #expect(bytes.count == content.count + SealedFile.overhead)
        #expect(SealedFile.isSealed(bytes))
        #expect(SealedFile.content(bytes, of: "name", under: try ring(2, 1)) == content)
        #expect(SealedFile.content(bytes, of: "other", under: try ring(1)) == nil)
        #expect(SealedFile.content(bytes, of: "name", under: try ring(2)) == nil)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(SealedFile.content(changed, of: "name", under: try ring(1)) != content, "byte \(index)")
        }
    }

    @Test("C2: the first key encrypts; a message names the missing key and where keys are given")
    func keys() throws {
        let bytes = SealedFile.bytes(content, as: "name", under: try ring(2, 1))
        #expect(SealedFile.isCurrent(bytes, under: try ring(2)))
        #expect(!SealedFile.isCurrent(bytes, under: try ring(1, 2)))
        #expect(!SealedFile.isCurrent(bytes, under: try ring(2, encrypts: false)))
        #expect(SealedFile.missingKey(bytes, at: "F", under: try ring(1, 2)) == nil)
        let beginning = Array(bytes.prefix(SealedFile.prefix))
        #expect(
            SealedFile.missingKey(beginning, at: "F", under: nil, source: "--key-file")
                == "F is encrypted with key 2, and there is no key: use --key-file; nothing was changed")
        #expect(
            SealedFile.missingKey(bytes, at: "F", under: try ring(1))
                == "F is encrypted with key 2, which is not among the keys of store.encryption; nothing was changed")
    }

    @Test("C2: without a key, or while encryption is being switched off, a file is plain")
    func plain() throws {
        for keyring in [nil, try ring(1, encrypts: false)] {
            let bytes = SealedFile.bytes(content, as: "name", under: keyring)
            #expect(bytes == content && !SealedFile.isSealed(bytes))
            #expect(SealedFile.content(bytes, of: "name", under: keyring) == content)
        }
    }
}
