import HeadgateData
import Testing

@testable import HeadgateEncryption

@Suite("Keys of encrypted files") struct EncryptionKeysTests {
    private func line(_ number: Int) -> String { "\(number) " + String(repeating: "0\(number)", count: 32) + "\n" }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    @Test("C1: keys are derived as RFC 5869 specifies")
    func derivation() {
        let key = [UInt8](repeating: 0x0b, count: 22)
        #expect(
            hex(Derivation.derive(42, from: key, salt: Array(0...12), info: Array(0xf0...0xf9)))
                == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
        #expect(
            hex(Derivation.derive(42, from: key, salt: [], info: []))
                == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
    }

    @Test("C2: a key file has one key per line, and an error names the line and never the key")
    func keyFile() throws {
        let text = "# comment\n\n 2 " + String(repeating: "0aF1", count: 16) + " \r\n" + line(1)
        #expect(try EncryptionKeys(text).numbers == [2, 1])
        #expect(try EncryptionKeys(text).all[0].bytes.prefix(2) == [0x0a, 0xf1])
        for (text, line) in [
            ("", "no key"), ("# nothing\n", "no key"), (String(repeating: "ab", count: 32), "line 1"),
            ("0 " + String(repeating: "ab", count: 32), "line 1"),
            ("70000 " + String(repeating: "ab", count: 32), "line 1"),
            (line(1) + "2 abcd", "line 2"), (line(1) + line(1), "line 2"),
            ("1 " + String(repeating: "xy", count: 32), "line 1"),
        ] {
            let fault = #expect(throws: EncryptionKeys.Fault.self) { try EncryptionKeys(text) }
            #expect(fault?.message.contains(line) == true && fault?.message.contains("abab") == false, "\(text)")
        }
    }

    @Test("C1: nonces of the system's random bytes differ")
    func systemRandom() throws {
        let keyring = Keyring(try EncryptionKeys(line(1)), encrypts: true)
        let nonces = (0..<1_000).map { _ in
            [UInt8](unsafeUninitializedCapacity: 12) { buffer, count in
                keyring.writeNonce(to: UnsafeMutableRawBufferPointer(buffer))
                count = 12
            }
        }
        #expect(Set(nonces).count == 1_000)
    }
}
