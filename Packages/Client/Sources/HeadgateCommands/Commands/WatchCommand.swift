import HeadgateClient

extension Command {
    private static let json = Option("--json", "print the notifications, a line of JSON each, also on a terminal")

    /// `headgate watch`.
    static let watch = Command(
        name: "watch", summary: "Show what happens in the daemon, as it happens.",
        operands: [Operand("TOPIC", .any)], options: [json],
        notes: """
            Topics: dispatchers, barriers, outcomes, clients. On a terminal dispatchers and barriers are shown unless
            others are named; q or Ctrl-C ends it. Elsewhere, or with --json, each notification is a line: the present
            state of each topic first, then what changes; all topics unless some are named. When the daemon restarts,
            the watch goes on, beginning again with the present state.
            """
    ) { invocation in
        let topics = try topics(invocation.arguments.operands)
        if let place = invocation.terminal.screen, !invocation.arguments.has(json) {
            return try WatchView(invocation, topics: topics.isEmpty ? WatchView.usual : topics, on: place).run()
        }
        return try WatchLines(invocation, topics: topics.isEmpty ? nil : topics).run()
    }

    private static func topics(_ words: [String]) throws(UsageError) -> [WatchTopic] {
        var topics: [WatchTopic] = []
        for word in words {
            guard let topic = WatchTopic(rawValue: word) else {
                let hint = NearestWord.hint(for: word, among: WatchTopic.allCases.map(\.rawValue))
                throw UsageError(message: "watch: there is no topic \(word)\(hint)", command: "watch")
            }
            if !topics.contains(topic) { topics.append(topic) }
        }
        return topics
    }
}
