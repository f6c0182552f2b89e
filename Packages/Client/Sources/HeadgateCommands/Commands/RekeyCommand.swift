import HeadgateClient
import HeadgateData
import HeadgateText

extension Command {
    /// The command `headgate rekey`.
    static let rekey = Command(
        name: "rekey",
        summary: "Read the keys of the store again, and rewrite everything under the first.",
        options: [.json],
        notes: """
            Use it after a new key was added as the first line of the key file. The daemon rewrites the store in the
            background: `headgate doctor` and `headgate status --json` (`store.encryption`) show how much is left. Keep the
            old key until nothing is left, and as long as there are backups under it.
            """
    ) { invocation in
        let answer = try invocation.ask([Question(method: "store.rekey")])[0]
        try invocation.show(answer, else: text(answer))
        return .success
    }

    private static func text(_ answer: DataObject) -> String {
        let left = Quantity.bytes(answer.get(key: "bytes_left") ?? 0)
        guard let key: Int = answer.get(key: "key") else { return "The daemon decrypts the store: \(left) left.\n" }
        return "The daemon rewrites the store under key \(key): \(left) left.\n"
    }
}
