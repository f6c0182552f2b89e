import HeadgateData
import HeadgateEncryption
import HeadgateSeeds
import HeadgateTransport

@testable import HeadgateServer
@testable import HeadgateStore

/// The encryption keys of a ``KeeperHistory``, which change from one start to the next (Behaviour C2).
struct KeeperKeys {
    private let random: Guarded<SeededRandom>
    private let algorithm: SealAlgorithm
    /// True if the store is encrypted at times.
    let areUsed: Bool
    /// The key that certainly encrypts every file, or nil if that is unknown.
    var only: Int?
    /// The keys of the present life. The first one encrypts new data, if `encrypts` is true.
    private(set) var numbers: [Int] = []
    private(set) var encrypts = false

    init(_ record: Record) {
        random = Guarded(SeededRandom(seed: Seed(UInt64(record.number(1...1_000_000)))))
        algorithm = record.pick(SealAlgorithm.allCases)
        areUsed = record.oneIn(2)
    }

    /// Chooses the keys of the next life. A key that files may need is among them.
    mutating func choose(_ record: Record) {
        guard areUsed else { return }
        let first = record.number(1...3)
        let needed = only.map { [$0] } ?? [1, 2, 3]
        let isSparse = only != nil
        if isSparse { record.count(.keyRemoved) }
        numbers = [first] + (isSparse ? needed : [1, 2, 3]).filter { $0 != first }
        encrypts = record.number(0...3) > 0
        if numbers.first != only || !encrypts { only = nil }
        record.note(encrypts ? "keys \(numbers)" : "keys \(numbers), switched off")
    }

    /// The keyring of the present life, or of others.
    func keyring(_ numbers: [Int]) -> Keyring? {
        guard areUsed else { return nil }
        let keys = numbers.map { EncryptionKey(number: UInt16($0), bytes: [UInt8](repeating: UInt8($0), count: 32)) }
        return Keyring(EncryptionKeys(keys), encrypts: encrypts, algorithm: algorithm) { [random] bytes in
            for index in bytes.indices { bytes[index] = random.withLock { UInt8.random(in: 0...255, using: &$0) } }
        }
    }

    static let variable = "KEEPER_KEYS"

    /// The value of the environment variable with the keys.
    var text: String {
        numbers.map { number in
            let digits = "0\(number)"
            return "\(number) " + String(repeating: digits, count: 32)
        }.joined(separator: ",")
    }

    /// The settings of the store.
    var settings: DataObject {
        areUsed
            ? ["store": ["encryption": ["key_env": .string(KeeperKeys.variable), "enabled": .bool(encrypts)]]] : [:]
    }
}
