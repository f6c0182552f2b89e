import HeadgateClient
import HeadgateData

extension Command {
    /// The command `headgate metrics`.
    static let metrics = Command(
        name: "metrics", summary: "Print what the daemon counts and measures, as Prometheus reads it.",
        options: [.json],
        notes: """
            What is printed is what a textfile collector reads: write it to a file of another name, and give that its own
            name when it is whole.
            """
    ) { invocation in
        let answer = try invocation.ask([Question(method: "metrics")])[0]
        guard let metrics = ListedMetric.list(in: answer) else {
            throw ClientError.badAnswer("a result of metrics without metrics")
        }
        let text = MetricsText.prometheus.text(metrics)
        try invocation.show(answer, else: invocation.terminal.showsOutput ? PlainText.lines(text) : text)
        return .success
    }
}
