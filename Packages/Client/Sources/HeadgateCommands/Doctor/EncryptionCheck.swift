import HeadgateData
import HeadgateText

/// Judges the encryption of the daemon's store (Behaviour C1, C2).
enum EncryptionCheck {
    /// - Parameter status: the result of `status`.
    static func findings(_ status: DataObject) -> [Finding] {
        let state = EncryptionText(status.get(key: "store", as: DataObject.self) ?? [:])
        var findings: [Finding] = [
            state.isSettled ? .fine("encryption", state.words) : .doubtful("encryption", state.words, state.advice)
        ]
        if state.isExposed {
            findings.append(
                .wrong(
                    "encryption", "users other than its owner may read or write the key file",
                    EncryptionText.exposedAdvice))
        }
        return findings
    }
}
