import CCipher
import HeadgateData

/// The name of the key under which a file is encrypted. It is in the file's header, and in each frame of the file, so that a
/// frame can be read without the header.
public struct Seal: Hashable {
    var algorithm: SealAlgorithm
    /// The number of the operator's key.
    public var key: UInt16
    /// The check of that key (``EncryptionKey/check``).
    var check: UInt32
    /// A random number of the file. The file's own key is derived with it, so that two files never have the same key.
    var salt: UInt64

    public static let size = 16

    init(algorithm: SealAlgorithm, key: UInt16, check: UInt32, salt: UInt64) {
        (self.algorithm, self.key, self.check, self.salt) = (algorithm, key, check, salt)
    }

    /// Reads a seal; nil if there is none.
    public init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Seal.size, let algorithm = SealAlgorithm(rawValue: bytes[0]), bytes[1] == 0
        else { return nil }
        self.algorithm = algorithm
        key = LittleEndian.load(bytes, at: 2, as: UInt16.self)
        check = LittleEndian.load(bytes, at: 4, as: UInt32.self)
        salt = LittleEndian.load(bytes, at: 8, as: UInt64.self)
    }

    public func write(to bytes: UnsafeMutableRawBufferPointer, at offset: Int) {
        LittleEndian.store(words.0, in: bytes, at: offset)
        LittleEndian.store(words.1, in: bytes, at: offset + 8)
    }

    /// The seal as two words of the header.
    public var words: (UInt64, UInt64) {
        (UInt64(algorithm.rawValue) | UInt64(key) << 16 | UInt64(check) << 32, salt)
    }
}

/// The algorithms that encrypt and authenticate frames.
public enum SealAlgorithm: UInt8, CaseIterable, Sendable {
    case aes256GCM = 1
    /// For processors without instructions for AES.
    case chaCha20Poly1305 = 2

    /// The faster algorithm of this processor.
    static let ofProcessor: SealAlgorithm = ccipher_processor_has_aes() == 1 ? .aes256GCM : .chaCha20Poly1305

    var kind: ccipher_algorithm { self == .aes256GCM ? CCIPHER_AES_256_GCM : CCIPHER_CHACHA20_POLY1305 }
}
