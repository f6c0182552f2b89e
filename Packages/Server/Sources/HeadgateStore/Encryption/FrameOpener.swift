import HeadgateEncryption

/// Returns the contents of a file's frames: decrypted, if the file is encrypted (Behaviour C1).
final class FrameOpener {
    /// True if the file is encrypted; nil if its header is damaged. Then the mark of each frame says whether the frame
    /// is encrypted.
    private let isSealed: Bool?
    private let number: UInt64
    private let keyring: Keyring?
    /// The cipher of the file, or of the last frame of a file whose header is damaged.
    private var cipher: FrameCipher?
    /// The last frame that was decrypted, by its checksum, and its content.
    private var last: (checksum: UInt64, offset: Int, content: UnsafeRawBufferPointer)?

    /// - Parameters:
    ///   - header: the file's header; nil if it is damaged. Without keys it is not needed.
    ///   - keyring: the keys; nil if there are none.
    /// - Returns: nil if the key of the file is not in the keyring.
    init?(_ header: LogHeader?, segment number: UInt64, _ keyring: Keyring?) {
        (self.number, self.keyring) = (number, keyring)
        isSealed = header == nil && keyring != nil ? nil : header?.seal != nil
        guard let header, let seal = header.seal else { return }
        cipher = keyring.flatMap { FrameCipher(seal, $0, segment: number, header: header.bytes) }
        if cipher == nil { return nil }
    }

    /// Returns the content of a frame whose checksums are right; nil if the frame is not as it was written.
    /// - Parameter stored: the content as it is stored. A decrypted content is valid until the next call.
    func content(
        of frame: LogFrame, _ stored: UnsafeRawBufferPointer, at position: LogPosition
    ) -> UnsafeRawBufferPointer? {
        guard frame.isSealed == isSealed ?? frame.isSealed else { return nil }
        guard frame.isSealed else { return stored }
        // A scan verifies a frame before the frame is read.
        if let last, last.checksum == frame.checksum, last.offset == position.offset { return last.content }
        last = nil
        if isSealed == nil, let seal = Seal(stored), cipher?.seal != seal {
            cipher = keyring.flatMap { FrameCipher(seal, $0, segment: number, header: nil) }
        }
        guard position.segment == number, let content = cipher?.open(stored, frame, at: position) else { return nil }
        last = (frame.checksum, position.offset, content)
        return content
    }
}
