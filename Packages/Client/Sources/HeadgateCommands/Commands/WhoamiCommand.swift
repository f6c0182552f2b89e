import HeadgateClient
import HeadgateData

extension Command {
    /// The command `headgate whoami`.
    static let whoami = Command(
        name: "whoami", summary: "Show the rights of this user.", options: [.json],
        notes: """
            track: send events. observe: see status, lists and metrics. read: see the contents of events. control: pause,
            resume, purge, requeue, rewind, erase. serve: run workers and serve boards. configure: change the settings,
            which allows as much as the daemon's user. The settings grant rights in `access`; root and the daemon's user
            have all rights.
            """
    ) { invocation in
        let answer = try invocation.ask([Question(method: "rights")])[0]
        try invocation.show(answer, else: RightsText.text(answer))
        return .success
    }
}

/// Renders the answer of `rights` for people.
enum RightsText {
    /// The meaning of each right, in the order of the documentation.
    private static let meanings = [
        ("track", "send events"), ("observe", "see status, lists and metrics"), ("read", "see the contents of events"),
        ("control", "pause, resume, purge, requeue, rewind and erase"), ("serve", "run workers and serve boards"),
        ("configure", "change settings"),
    ]

    /// Returns the effect of the rights, as a finding of the doctor.
    static func finding(_ answer: DataObject) -> Finding {
        let groups = answer.get(key: "groups", as: [String].self) ?? []
        let allowed = meanings.filter { groups.contains($0.0) }.map { "\($0.1) (\($0.0))" }
        return .fine("rights", "you may " + allowed.joined(separator: ", "))
    }

    static func text(_ answer: DataObject) -> String {
        let number = { (key: String) in answer.get(key: key, as: Int.self).map(String.init) ?? "?" }
        let groups = answer.get(key: "groups", as: [String].self) ?? []
        let lines = [
            "user       \(number("uid")) (group \(number("gid")))",
            "rights     \(groups.joined(separator: ", "))",
            "namespace  \(answer.get(key: "namespace", as: String.self) ?? "?")",
        ]
        return lines.map { PlainText.line($0) + "\n" }.joined()
    }
}
