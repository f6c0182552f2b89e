import HeadgateData

/// Words for the encryption of the daemon's store (Behaviour C1, C2).
public struct EncryptionText {
    /// The state as a sentence without a capital letter.
    public let words: String
    /// True if all files are as the settings say, and nothing has to be done.
    public let isSettled: Bool
    /// The next step of the operator; nil if there is none.
    public let advice: String?
    /// True if users other than its owner may read or write the key file.
    public let isExposed: Bool

    /// The advice to an operator whose key file is exposed.
    public static let exposedAdvice =
        "run chmod 600 on the key file, and let it belong to the daemon's user; then change the key, and run "
        + "headgate rekey"

    /// - Parameter store: the member `store` of `status`.
    public init(_ store: DataObject) {
        let found: DataObject? = store.get(key: "encryption")
        isExposed = found?.get(key: "key_file_exposed") ?? false
        (words, isSettled, advice) = found.map(Self.state) ?? ("the store is not encrypted", true, nil)
    }

    private static func state(_ found: DataObject) -> (String, Bool, String?) {
        let bytesLeft = found.get(key: "bytes_left") ?? 0
        let left = Quantity.bytes(bytesLeft)
        guard let key: Int = found.get(key: "key") else {
            guard bytesLeft == 0 else { return ("the store is being decrypted: \(left) left", false, nil) }
            return (
                "the store is no longer encrypted", false,
                "remove store.encryption from the settings; the key is needed only for older backups"
            )
        }
        if bytesLeft == 0 { return ("the store is encrypted with key \(key)", true, nil) }
        if found.get(key: "rewriting") ?? false {
            return ("the store is being rewritten under key \(key): \(left) left", false, nil)
        }
        return (
            "the store is encrypted with key \(key), and \(left) are under other keys", false,
            "run headgate rekey before an old key is removed"
        )
    }
}
