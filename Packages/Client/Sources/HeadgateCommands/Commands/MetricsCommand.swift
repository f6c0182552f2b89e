import HeadgateClient
import HeadgateData

extension Command {
    /// The command `headgate metrics`.
    static let metrics = Command(
        name: "metrics", summary: "Print the daemon's metrics in the Prometheus text format.",
        options: [.json],
        notes: """
            The output suits the textfile collector of node_exporter: write it to a temporary file, and rename the file once
            it is complete.
            """
    ) { invocation in
        let answer = try invocation.ask([Question(method: "metrics")])[0]
        guard let metrics = ListedMetric.list(in: answer) else {
            throw ClientError.badAnswer("the daemon's answer has no metrics")
        }
        let text = MetricsText.prometheus.text(metrics)
        try invocation.show(answer, else: invocation.terminal.showsOutput ? PlainText.lines(text) : text)
        return .success
    }
}
