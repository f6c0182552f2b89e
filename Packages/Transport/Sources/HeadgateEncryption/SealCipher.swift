import CCipher
import HeadgateData

/// An authenticated cipher of OpenSSL, under a key that is derived for one file.
public final class SealCipher {
    private let algorithm: SealAlgorithm
    private let key: [UInt8]
    private let cipher: UnsafeMutableRawPointer

    public static let nonceSize = 12
    public static let tagSize = 16

    /// - Parameters:
    ///   - purpose: the purpose of the derived key.
    ///   - salt: bytes that belong to the file, beside the seal's own salt.
    public init(_ seal: Seal, _ key: EncryptionKey, for purpose: String, salt: [UInt8] = []) {
        guard let cipher = ccipher_new() else { fatalError("no memory for a cipher") }
        (algorithm, self.cipher) = (seal.algorithm, cipher)
        self.key = Derivation.derive(
            EncryptionKey.size, from: key.bytes, salt: LittleEndian.bytes(seal.salt) + salt,
            info: Array(purpose.utf8) + [seal.algorithm.rawValue])
    }

    deinit { ccipher_free(cipher) }

    /// Encrypts a text in place, and writes the tag.
    /// - Parameter bound: bytes that the tag covers, too.
    public func encrypt(
        _ text: UnsafeMutableRawBufferPointer, nonce: UnsafeRawBufferPointer, bound: [UInt8],
        tag: UnsafeMutableRawBufferPointer
    ) {
        let isDone = withText(UnsafeRawBufferPointer(text), into: text, nonce, bound) {
            ccipher_encrypt(cipher, &$0, tag.bytes) == 1
        }
        // Nothing may be written in plain bytes, and these calls fail only if memory is short or the library is broken.
        precondition(isDone, "OpenSSL cannot encrypt")
    }

    /// Decrypts a text.
    /// - Returns: false if the text or the bound bytes are not those that were encrypted.
    public func decrypt(
        _ text: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer, nonce: UnsafeRawBufferPointer,
        bound: [UInt8], tag: UnsafeRawBufferPointer
    ) -> Bool {
        withText(text, into: room, nonce, bound) { ccipher_decrypt(cipher, &$0, tag.bytes) == 1 }
    }

    private func withText(
        _ text: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer, _ nonce: UnsafeRawBufferPointer,
        _ bound: [UInt8], _ body: (inout ccipher_text) -> Bool
    ) -> Bool {
        key.withUnsafeBufferPointer { key in
            bound.withUnsafeBufferPointer { bound in
                var text = ccipher_text(
                    algorithm: algorithm.kind, key: key.baseAddress, nonce: nonce.bytes, bound: bound.baseAddress,
                    bound_count: bound.count, input: text.bytes, output: room.bytes, count: text.count)
                return body(&text)
            }
        }
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate var bytes: UnsafeMutablePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeRawBufferPointer {
    fileprivate var bytes: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
