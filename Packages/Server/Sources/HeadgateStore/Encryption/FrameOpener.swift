/// Returns the contents of a file's frames: decrypted, if the file is encrypted (Behaviour C1).
final class FrameOpener {
    /// The cipher of the file's frames, by the file's header.
    private enum Expectation {
        case plain
        case sealed(FrameCipher)
        /// The header is damaged. Each frame names its key.
        case unknown(Keyring)
    }

    private let expectation: Expectation
    private let number: UInt64
    /// The cipher of the last frame of a file whose header is damaged.
    private var lastCipher: FrameCipher?
    /// The last frame that was decrypted, by its checksum, and its content.
    private var last: (checksum: UInt64, offset: Int, content: UnsafeRawBufferPointer)?

    /// - Parameters:
    ///   - header: the file's header; nil if it is damaged.
    ///   - keyring: the keys; nil if there are none.
    /// - Returns: nil if the key of the file is not in the keyring.
    init?(_ header: LogHeader?, segment number: UInt64, _ keyring: Keyring?) {
        self.number = number
        switch (header?.seal, keyring) {
        case (let seal?, let keyring):
            guard let keyring, let cipher = FrameCipher(seal, keyring, segment: number, header: header?.bytes)
            else { return nil }
            expectation = .sealed(cipher)
        case (nil, let keyring?) where header == nil: expectation = .unknown(keyring)
        case (nil, _): expectation = .plain
        }
    }

    /// Returns the content of a frame whose checksums are right; nil if the frame is not as it was written.
    /// - Parameter stored: the content as it is stored. A decrypted content is valid until the next call.
    func content(
        of frame: LogFrame, _ stored: UnsafeRawBufferPointer, at position: LogPosition
    ) -> UnsafeRawBufferPointer? {
        switch expectation {
        case .plain: return frame.isSealed ? nil : stored
        case .sealed(let cipher): return frame.isSealed ? open(frame, stored, at: position, with: cipher) : nil
        case .unknown(let keyring):
            guard frame.isSealed else { return stored }
            guard let cipher = cipher(of: stored, keyring) else { return nil }
            return open(frame, stored, at: position, with: cipher)
        }
    }

    /// Decrypts a frame, unless it was the last one: a scan verifies a frame before the frame is read.
    private func open(
        _ frame: LogFrame, _ stored: UnsafeRawBufferPointer, at position: LogPosition, with cipher: FrameCipher
    ) -> UnsafeRawBufferPointer? {
        if let last, last.checksum == frame.checksum, last.offset == position.offset { return last.content }
        last = nil
        guard position.segment == number, let content = cipher.open(stored, frame, at: position) else { return nil }
        last = (frame.checksum, position.offset, content)
        return content
    }

    private func cipher(of stored: UnsafeRawBufferPointer, _ keyring: Keyring) -> FrameCipher? {
        guard let seal = Seal(stored) else { return nil }
        if let lastCipher, lastCipher.seal == seal { return lastCipher }
        (last, lastCipher) = (nil, FrameCipher(seal, keyring, segment: number, header: nil))
        return lastCipher
    }
}
