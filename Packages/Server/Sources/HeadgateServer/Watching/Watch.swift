import HeadgateCore
import HeadgateData

/// One client's watch: what it was told of each topic, and when it is told again.
final class Watch {
    let id: String
    let session: Session
    private var parts: [Part]

    private struct Part {
        let topic: WatchTopic
        var report: any TopicReport
        var pace = Pace()
    }

    init(id: String, topics: Set<WatchTopic>, session: Session) {
        self.id = id
        self.session = session
        parts = WatchTopic.allCases.filter(topics.contains).map { Part(topic: $0, report: $0.report) }
    }

    /// Whether its client has taken all that was sent: only then is there more, so that a slow reader gets the latest
    /// state and not a backlog.
    var isReady: Bool {
        session.connection.isWritable && session.connection.outputBytes == 0
    }

    /// When there may be something to tell; nil: not yet.
    var due: Instant? {
        parts.compactMap(\.pace.due).min()
    }

    /// Takes note of what may have changed.
    func mark(_ marks: [WatchTopic: Pace.Urgency], at now: Instant) {
        for index in parts.indices {
            if let urgency = marks[parts[index].topic] { parts[index].pace.mark(urgency, at: now) }
        }
    }

    /// Tells what is new of the topics that are due, each in a notification.
    func tell(from service: Service, at now: Instant) {
        var writer = JSONWriter()
        for index in parts.indices where parts[index].pace.takeDue(at: now) {
            guard let news = parts[index].report.news(from: service) else { continue }
            write(news, of: parts[index].topic, into: &writer)
        }
        if !writer.bytes.isEmpty { session.send(writer.bytes) }
    }

    private func write(_ news: (inout JSONWriter) -> Void, of topic: WatchTopic, into writer: inout JSONWriter) {
        writer.notification(method: WatchMethods.changed.name) { params in
            params.beginObject()
            params.member("watch", id)
            params.member("topic", topic.rawValue)
            news(&params)
            params.endObject()
        }
        writer.endLine()
    }
}
