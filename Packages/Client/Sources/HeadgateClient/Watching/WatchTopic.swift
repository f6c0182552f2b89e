/// What can be watched (Protocol, `watch`).
public enum WatchTopic: String, CaseIterable, Sendable {
    /// The dispatchers, as `dispatcher.list` has them.
    case dispatchers
    /// The barriers, as `barrier.list` has them.
    case barriers
    /// What becomes of events, counted by dispatcher.
    case outcomes
    /// Who is connected.
    case clients
}
