import CCipher
import Glibc
import HeadgateTransport

/// The keys of a store or a follower, and the choice of the key that encrypts (Behaviour C2).
///
/// The keys change while the daemon runs, when the operator adds one.
public final class Keyring: Sendable {
    /// The keys, and whether files are encrypted from now on.
    private struct Content: Sendable {
        var keys: [EncryptionKey]
        var encrypts: Bool
    }

    private let content: Guarded<Content>
    private let algorithm: SealAlgorithm
    /// Fills a buffer with random bytes.
    private let random: @Sendable (UnsafeMutableRawBufferPointer) -> Void

    /// True if the library that encrypts is installed. Without it no keyring can be used.
    public static var isAvailable: Bool { ccipher_is_available() == 1 }

    /// - Parameter encrypts: false if encryption is being switched off: the keys only decrypt.
    public convenience init(_ keys: EncryptionKeys, encrypts: Bool) {
        self.init(keys, encrypts: encrypts, algorithm: .ofProcessor, random: Keyring.systemRandom)
    }

    public init(
        _ keys: EncryptionKeys, encrypts: Bool, algorithm: SealAlgorithm,
        random: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void
    ) {
        content = Guarded(Content(keys: keys.all, encrypts: encrypts))
        (self.algorithm, self.random) = (algorithm, random)
    }

    /// Uses other keys from now on. Files that need a key that is gone cannot be read any more.
    public func replace(_ keys: EncryptionKeys) { content.withLock { $0.keys = keys.all } }

    /// The number of the key that encrypts; nil if nothing is encrypted from now on.
    public var writing: UInt16? { current?.number }

    private var current: EncryptionKey? { content.withLock { $0.encrypts ? $0.keys.first : nil } }

    /// Returns the key that a seal names; nil if the keyring does not have it.
    public func key(of seal: Seal) -> EncryptionKey? {
        content.withLock { content in
            content.keys.first { $0.number == seal.key && $0.check == seal.check }
        }
    }

    /// Returns true if there is a key with a number.
    private func hasKey(number: UInt16) -> Bool { content.withLock { $0.keys.contains { $0.number == number } } }

    /// Returns the message that the key of a file is not among the present keys.
    /// - Parameter source: the setting or option that names the keys.
    public static func message(
        _ path: String, _ number: UInt16, _ keyring: Keyring?, source: String = "store.encryption"
    ) -> String {
        let key = "\(path) is encrypted with key \(number)"
        guard let keyring else { return "\(key), and there is no key: use \(source); nothing was changed" }
        let reason =
            keyring.hasKey(number: number)
            ? "and key \(number) of \(source) is another key" : "which is not among the keys of \(source)"
        return "\(key), \(reason); nothing was changed"
    }

    /// Returns true if `keys` contain this keyring's key of a number, with the same bytes.
    public func isThere(_ number: UInt16, in keys: EncryptionKeys) -> Bool {
        let known = content.withLock { $0.keys.first { $0.number == number } }
        return known.map(keys.all.contains) ?? false
    }

    /// Returns a seal for a new file; nil if it is not encrypted.
    public func newSeal() -> Seal? {
        guard let key = current else { return nil }
        var salt: UInt64 = 0
        withUnsafeMutableBytes(of: &salt, random)
        return Seal(algorithm: algorithm, key: key.number, check: key.check, salt: salt)
    }

    /// Returns true if a new file would be protected in the same way: under the same key, or not at all.
    public func isCurrent(_ seal: Seal?) -> Bool { seal?.key == current?.number && seal?.check == current?.check }

    /// Writes a fresh nonce.
    public func writeNonce(to bytes: UnsafeMutableRawBufferPointer) { random(bytes) }

    /// Random bytes of the kernel, combined with the clock: the clones of a virtual machine may have the same state of
    /// the kernel's generator (decision 114).
    private static func systemRandom(_ bytes: UnsafeMutableRawBufferPointer) {
        guard ccipher_random(bytes.baseAddress, bytes.count) == 0 else {
            fatalError("the system has no random bytes: \(errno)")
        }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var nanoseconds = UInt64(bitPattern: Int64(now.tv_sec) &* 1_000_000_000 &+ Int64(now.tv_nsec))
        for index in bytes.indices.prefix(8) {
            bytes[index] ^= UInt8(truncatingIfNeeded: nanoseconds)
            nanoseconds >>= 8
        }
    }
}
