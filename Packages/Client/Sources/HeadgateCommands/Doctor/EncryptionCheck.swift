import HeadgateData
import HeadgateText

/// Judges the encryption of the daemon's store (Behaviour C1, C2).
enum EncryptionCheck {
    /// - Parameter status: the result of `status`.
    static func findings(_ status: DataObject) -> [Finding] {
        let store = status.get(key: "store", as: DataObject.self) ?? [:]
        guard let found = store.get(key: "encryption", as: DataObject.self) else {
            return [.fine("encryption", "the store is not encrypted")]
        }
        var findings = [state(found)]
        if found.get(key: "key_file_exposed") ?? false {
            findings.append(
                .wrong(
                    "encryption", "users other than its owner may read or write the key file",
                    "run chmod 600 on the key file, and let it belong to the daemon's user; then change the key, and run "
                        + "headgate rekey"))
        }
        return findings
    }

    private static func state(_ found: DataObject) -> Finding {
        let left = Quantity.bytes(found.get(key: "bytes_left") ?? 0)
        let isWhole = (found.get(key: "bytes_left") ?? 0) == 0
        let isRewriting = found.get(key: "rewriting") ?? false
        guard let key: Int = found.get(key: "key") else {
            guard isWhole else { return .doubtful("encryption", "the store is being decrypted: \(left) left") }
            return .doubtful(
                "encryption", "the store is no longer encrypted",
                "remove store.encryption from the settings; the key is needed only for older backups")
        }
        if isWhole { return .fine("encryption", "the store is encrypted with key \(key)") }
        if isRewriting { return .doubtful("encryption", "the store is being rewritten under key \(key): \(left) left") }
        return .doubtful(
            "encryption", "the store is encrypted with key \(key), and \(left) are under other keys",
            "run headgate rekey before an old key is removed")
    }
}
