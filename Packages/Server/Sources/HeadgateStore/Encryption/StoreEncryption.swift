/// The keys under which the files of a store are (Behaviour C2).
package struct StoreEncryption: Equatable, Sendable {
    /// The number of the key under which new files are; nil if they are not encrypted.
    package var key: Int?
    /// The bytes of the files under each key, by its number; 0 stands for files that are not encrypted.
    package var bytes: [Int: Int]
    /// True while files are rewritten under the present key.
    package var isRewriting: Bool

    /// The bytes that are not under the present key.
    package var bytesLeft: Int { bytes.reduce(0) { $1.key == key ?? 0 ? $0 : $0 + $1.value } }
}
