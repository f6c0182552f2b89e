import Foundation
import HeadgateEncryption
import HeadgateSeeds
import HeadgateTransport

@testable import HeadgateStore

/// Makes keys for tests. Each byte of a key is the low byte of the key's number.
enum Keys {
    static func line(_ number: Int) -> String {
        let byte = String(number & 0xff, radix: 16)
        return "\(number) " + String(repeating: byte.count == 1 ? "0" + byte : byte, count: 32) + "\n"
    }

    static func of(_ numbers: Int...) throws -> EncryptionKeys {
        try EncryptionKeys(numbers.map(line).joined())
    }

    /// Returns a keyring whose random bytes depend on the seed alone.
    static func ring(
        _ numbers: Int..., encrypts: Bool = true, algorithm: SealAlgorithm = .aes256GCM, seed: UInt64 = 1
    ) throws -> Keyring {
        let random = Guarded(SeededRandom(seed: Seed(seed)))
        return Keyring(
            try EncryptionKeys(numbers.map(line).joined()), encrypts: encrypts, algorithm: algorithm
        ) { bytes in
            for index in bytes.indices { bytes[index] = random.withLock { UInt8.random(in: 0...255, using: &$0) } }
        }
    }
}

/// The files of a data directory.
struct StoreFiles {
    let directory: String

    /// All files by name.
    var all: [String: [UInt8]] {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: directory)) ?? []
        let contents = names.compactMap { name in
            FileManager.default.contents(atPath: directory + "/" + name).map { (name, [UInt8]($0)) }
        }
        return Dictionary(uniqueKeysWithValues: contents)
    }

    /// Returns the names of the files that contain a text, sorted.
    func files(with text: String) -> [String] {
        all.filter { Data($0.value).range(of: Data(text.utf8)) != nil }.keys.sorted()
    }

    /// The nonces of all encrypted frames, each with the contents of the frames that use the nonce.
    var nonces: [[UInt8]: Set<[UInt8]>] {
        var nonces: [[UInt8]: Set<[UInt8]>] = [:]
        for bytes in all.values {
            guard case .header(let header) = bytes.withUnsafeBytes(LogHeader.read) else { continue }
            bytes[LogHeader.size...].withUnsafeBytes { bytes in
                var scan = LogScan(
                    bytes, from: LogPosition(segment: header.number, offset: LogHeader.size), behind: nil)
                while let found = scan.next() {
                    guard case .frame(let frame, let offset) = found, frame.isSealed else { continue }
                    let content = Array(scan.content(of: frame, at: offset))
                    nonces[Array(content[8..<FrameCipher.prefix]), default: []].insert(content)
                }
            }
        }
        return nonces
    }

    /// The number of each file's key, by file name; 0 for a plain file. Files without a header are left out.
    var keys: [String: UInt16] {
        all.compactMapValues { bytes in
            guard case .header(let header) = bytes.withUnsafeBytes(LogHeader.read) else { return nil }
            return header.seal?.key ?? 0
        }
    }
}
