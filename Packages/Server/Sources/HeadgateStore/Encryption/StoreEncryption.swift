/// The keys with which the files of a store are encrypted (Behaviour C2).
package struct StoreEncryption: Equatable, Sendable {
    /// The number of the key that encrypts new files; nil if new files are not encrypted.
    package var key: Int?
    /// The bytes of the files under each key, by its number; 0 stands for files that are not encrypted.
    package var bytes: [Int: Int]
    /// True while files are rewritten under the present key.
    package var isRewriting: Bool

    /// The bytes of files that are not encrypted with the present key.
    package var bytesLeft: Int { bytes.reduce(0) { $1.key == key ?? 0 ? $0 : $0 + $1.value } }
}
