import HeadgateEncryption
import HeadgateSeeds
import HeadgateTransport

@testable import HeadgateStore

/// An operator who encrypts a store, changes its key, and decrypts it again, from one start to the next.
///
/// It draws its own random numbers, so that histories without keys stay as they are.
final class KeySwitches {
    private let random: Guarded<SeededRandom>
    private let algorithm: SealAlgorithm
    private var present: Keyring?
    private static let keys = (1...3).map { EncryptionKey(number: $0, bytes: [UInt8](repeating: UInt8($0), count: 32)) }

    init(_ seed: Seed) {
        random = Guarded(SeededRandom(seed: Seed(seed.number ^ 0x6b65_7973)))
        algorithm = SealAlgorithm.allCases[Int(seed.number / 3 % 2)]
    }

    private func number(below most: Int) -> Int { random.withLock { Int.random(in: 0..<most, using: &$0) } }

    /// Returns the keys of the next start.
    func next(_ record: Record) -> Keyring {
        let first = number(below: KeySwitches.keys.count)
        let keys = KeySwitches.keys[first...] + KeySwitches.keys[..<first]
        let encrypts = number(below: 4) > 0
        record.note(encrypts ? "key \(keys[first].number)" : "no key")
        let keyring = Keyring(
            EncryptionKeys(Array(keys)), encrypts: encrypts, algorithm: algorithm
        ) { [random] bytes in
            for index in bytes.indices { bytes[index] = random.withLock { UInt8.random(in: 0...255, using: &$0) } }
        }
        present = keyring
        return keyring
    }

    /// Returns true if everything is to be rewritten under the present key.
    func rekeys() -> Bool { number(below: 2) == 0 }

    /// Returns true if a file is encrypted with the present key, or plain if there is no key.
    func isPresent(_ seal: Seal?) -> Bool { present?.isCurrent(seal) ?? (seal == nil) }
}
