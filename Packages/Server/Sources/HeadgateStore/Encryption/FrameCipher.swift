import HeadgateData
import HeadgateEncryption

/// Encrypts and decrypts the frames of one file (Behaviour C1).
///
/// The stored content of a frame is the seal, a fresh nonce, the encrypted content, and a tag. The tag covers the segment's
/// number, the frame's offset and all of its header, so that a frame that was moved or changed is damaged.
final class FrameCipher {
    let seal: Seal
    private let keyring: Keyring
    private let number: UInt64
    /// The header of the file, which the tag of the snapshot covers; nil if the header is damaged.
    private let header: [UInt8]?
    private let cipher: SealCipher
    /// The memory for a decrypted content.
    private var room = UnsafeMutableRawBufferPointer.allocate(byteCount: 4 << 10, alignment: 16)

    static let nonceSize = SealCipher.nonceSize
    static let tagSize = SealCipher.tagSize
    /// The bytes before the encrypted content.
    static let prefix = Seal.size + nonceSize
    /// The bytes that encryption adds to a content.
    static let overhead = prefix + tagSize

    /// - Returns: nil if the key is not in the keyring.
    init?(_ seal: Seal, _ keyring: Keyring, segment number: UInt64, header: [UInt8]?) {
        guard let key = keyring.key(of: seal) else { return nil }
        (self.seal, self.keyring, self.number, self.header) = (seal, keyring, number, header)
        cipher = SealCipher(seal, key, for: "headgate log frames", salt: LittleEndian.bytes(number))
    }

    deinit { room.deallocate() }

    /// Encrypts a frame in place.
    /// - Parameters:
    ///   - content: the stored content: room for the seal and the nonce, the plain content, and room for the tag.
    ///   - frame: the frame, whose checksums are not used.
    func seal(_ content: UnsafeMutableRawBufferPointer, _ frame: LogFrame, at position: LogPosition) {
        seal.write(to: content, at: 0)
        let nonce = UnsafeMutableRawBufferPointer(rebasing: content[Seal.size..<FrameCipher.prefix])
        keyring.writeNonce(to: nonce)
        cipher.encrypt(
            UnsafeMutableRawBufferPointer(rebasing: content[FrameCipher.prefix..<content.count - FrameCipher.tagSize]),
            nonce: UnsafeRawBufferPointer(nonce), bound: bound(frame, at: position),
            tag: UnsafeMutableRawBufferPointer(rebasing: content[(content.count - FrameCipher.tagSize)...]))
    }

    /// Decrypts a frame.
    /// - Returns: the content, which is valid until the next call; nil if the frame is not as it was written.
    func open(_ content: UnsafeRawBufferPointer, _ frame: LogFrame, at position: LogPosition) -> UnsafeRawBufferPointer?
    {
        guard content.count >= FrameCipher.overhead, Seal(content) == seal else { return nil }
        let text = UnsafeRawBufferPointer(
            rebasing: content[FrameCipher.prefix..<content.count - FrameCipher.tagSize])
        makeRoom(text.count)
        let isSound = cipher.decrypt(
            text, into: room, nonce: UnsafeRawBufferPointer(rebasing: content[Seal.size..<FrameCipher.prefix]),
            bound: bound(frame, at: position),
            tag: UnsafeRawBufferPointer(rebasing: content[(content.count - FrameCipher.tagSize)...]))
        return isSound ? UnsafeRawBufferPointer(rebasing: room[..<text.count]) : nil
    }

    private func makeRoom(_ count: Int) {
        guard room.count < count else { return }
        room.deallocate()
        room = .allocate(byteCount: max(count, 2 * room.count), alignment: 16)
    }

    /// Returns the bytes to which a frame is bound.
    private func bound(_ frame: LogFrame, at position: LogPosition) -> [UInt8] {
        var writer = LogWriter()
        for word in [
            number, UInt64(position.offset), UInt64(frame.kind.rawValue), UInt64(frame.length), UInt64(frame.certain),
            frame.previous,
        ] { writer.put(word) }
        if frame.kind == .snapshot, let header { writer.putRest(header) }
        return writer.bytes
    }
}
