/// What a client may watch (Protocol, `watch`).
enum WatchTopic: String, CaseIterable, Sendable {
    /// The ways to the dispatchers, their queues and counters.
    case dispatchers
    /// Which barriers there are, and their states.
    case barriers
    /// What becomes of events.
    case outcomes
    /// Who is connected.
    case clients

    /// A report to somebody who has not been told anything yet.
    var report: any TopicReport {
        switch self {
        case .dispatchers: DispatchersReport()
        case .barriers: BarriersReport()
        case .outcomes: OutcomesReport()
        case .clients: ClientsReport()
        }
    }
}
