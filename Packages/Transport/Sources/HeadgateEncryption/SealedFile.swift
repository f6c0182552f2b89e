/// Bytes that are encrypted as a whole: a small file, or a record of a file (Behaviour C1).
public enum SealedFile {
    private static let magic = Array("hgatefil".utf8)
    /// The bytes before the encrypted content.
    public static let prefix = magic.count + Seal.size + SealCipher.nonceSize
    /// The bytes that encryption adds to a content.
    public static let overhead = prefix + SealCipher.tagSize

    /// Returns the bytes of the file with a content.
    /// - Parameters:
    ///   - name: the name of the file, to which its bytes are bound.
    ///   - keyring: the keys; nil if the file is not encrypted.
    public static func bytes(_ content: [UInt8], as name: String, under keyring: Keyring?) -> [UInt8] {
        guard let keyring, let seal = keyring.newSeal(), let key = keyring.key(of: seal) else { return content }
        let cipher = SealCipher(seal, key, for: "headgate file " + name)
        var bytes = magic + [UInt8](repeating: 0, count: prefix - magic.count) + content
        bytes += [UInt8](repeating: 0, count: SealCipher.tagSize)
        bytes.withUnsafeMutableBytes { bytes in
            seal.write(to: bytes, at: magic.count)
            let nonce = UnsafeMutableRawBufferPointer(rebasing: bytes[(prefix - SealCipher.nonceSize)..<prefix])
            keyring.writeNonce(to: nonce)
            cipher.encrypt(
                UnsafeMutableRawBufferPointer(rebasing: bytes[prefix..<(prefix + content.count)]),
                nonce: UnsafeRawBufferPointer(nonce), bound: Array(name.utf8),
                tag: UnsafeMutableRawBufferPointer(rebasing: bytes[(prefix + content.count)...]))
        }
        return bytes
    }

    /// Returns true if a file, or its beginning, is encrypted.
    public static func isSealed(_ bytes: [UInt8]) -> Bool { seal(of: bytes) != nil }

    /// Returns the seal of a file; nil if the file is not encrypted.
    private static func seal(of bytes: [UInt8]) -> Seal? {
        guard bytes.starts(with: magic) else { return nil }
        return bytes.withUnsafeBytes { Seal(UnsafeRawBufferPointer(rebasing: $0[magic.count...])) }
    }

    /// Returns true if a file with a content would be protected in the same way now.
    public static func isCurrent(_ bytes: [UInt8], under keyring: Keyring) -> Bool {
        guard bytes.starts(with: magic) else { return keyring.isCurrent(nil) }
        return seal(of: bytes).map(keyring.isCurrent) ?? false
    }

    /// Returns the message that the key of a file is missing; nil if the file needs no other key.
    /// - Parameters:
    ///   - bytes: the file, or its beginning.
    ///   - source: the setting or option that names the keys.
    public static func missingKey(
        _ bytes: [UInt8], at path: String, under keyring: Keyring?, source: String = "store.encryption"
    ) -> String? {
        guard let seal = seal(of: bytes), keyring?.key(of: seal) == nil else { return nil }
        return Keyring.message(path, seal.key, keyring, source: source)
    }

    /// Returns the content of a file: decrypted, if it is encrypted. Nil if the file is damaged, or its key is missing.
    public static func content(_ bytes: [UInt8], of name: String, under keyring: Keyring?) -> [UInt8]? {
        guard bytes.starts(with: magic) else { return bytes }
        guard let seal = seal(of: bytes), let key = keyring?.key(of: seal), bytes.count >= prefix + SealCipher.tagSize
        else { return nil }
        return bytes.withUnsafeBytes { bytes in
            let text = UnsafeRawBufferPointer(rebasing: bytes[prefix..<(bytes.count - SealCipher.tagSize)])
            var isSound = false
            let content = [UInt8](unsafeUninitializedCapacity: max(1, text.count)) { room, count in
                isSound = SealCipher(seal, key, for: "headgate file " + name).decrypt(
                    text, into: UnsafeMutableRawBufferPointer(room),
                    nonce: UnsafeRawBufferPointer(rebasing: bytes[(prefix - SealCipher.nonceSize)..<prefix]),
                    bound: Array(name.utf8),
                    tag: UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - SealCipher.tagSize)...]))
                count = isSound ? text.count : 0
            }
            return isSound ? content : nil
        }
    }
}
