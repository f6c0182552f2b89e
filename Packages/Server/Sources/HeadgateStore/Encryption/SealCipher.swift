import CCrypto
import HeadgateData

/// An authenticated cipher of OpenSSL, under a key that is derived for one file.
final class SealCipher {
    private let algorithm: SealAlgorithm
    private let key: [UInt8]
    private let context: OpaquePointer

    static let nonceSize = 12
    static let tagSize = 16

    /// - Parameters:
    ///   - purpose: the purpose of the derived key.
    ///   - salt: bytes that belong to the file, beside the seal's own salt.
    init(_ seal: Seal, _ key: EncryptionKey, for purpose: String, salt: [UInt8] = []) {
        guard let context = EVP_CIPHER_CTX_new() else { fatalError("no memory for a cipher") }
        (algorithm, self.context) = (seal.algorithm, context)
        self.key = Derivation.derive(
            EncryptionKey.size, from: key.bytes, salt: LittleEndian.bytes(seal.salt) + salt,
            info: Array(purpose.utf8) + [seal.algorithm.rawValue])
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    /// Encrypts a text in place, and writes the tag.
    /// - Parameter bound: bytes that the tag covers, too.
    func encrypt(
        _ text: UnsafeMutableRawBufferPointer, nonce: UnsafeRawBufferPointer, bound: [UInt8],
        tag: UnsafeMutableRawBufferPointer
    ) {
        var count: Int32 = 0
        let isDone =
            EVP_EncryptInit_ex(context, algorithm.cipher, nil, key, nonce.bytes) == 1
            && EVP_EncryptUpdate(context, nil, &count, bound, Int32(bound.count)) == 1
            && EVP_EncryptUpdate(context, text.bytes, &count, text.bytes, Int32(text.count)) == 1
            && EVP_EncryptFinal_ex(context, tag.bytes, &count) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(SealCipher.tagSize), tag.baseAddress) == 1
        // Nothing may be written in plain bytes, and these calls fail only if memory is short or the library is broken.
        precondition(isDone, "OpenSSL cannot encrypt")
    }

    /// Decrypts a text.
    /// - Returns: false if the text or the bound bytes are not those that were encrypted.
    func decrypt(
        _ text: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer, nonce: UnsafeRawBufferPointer,
        bound: [UInt8], tag: UnsafeRawBufferPointer
    ) -> Bool {
        var (count, last): (Int32, UInt8) = (0, 0)
        var tag = Array(tag)
        return EVP_DecryptInit_ex(context, algorithm.cipher, nil, key, nonce.bytes) == 1
            && EVP_DecryptUpdate(context, nil, &count, bound, Int32(bound.count)) == 1
            && EVP_DecryptUpdate(context, room.bytes, &count, text.bytes, Int32(text.count)) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(SealCipher.tagSize), &tag) == 1
            && EVP_DecryptFinal_ex(context, &last, &count) == 1
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate var bytes: UnsafeMutablePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeRawBufferPointer {
    fileprivate var bytes: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
