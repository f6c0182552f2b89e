/// The result of a flush (Behaviour F2).
public struct FlushAnswer: Sendable, Equatable {
    public var ended: End
    /// The result for each dispatcher.
    public var dispatchers: [String: Part]

    public enum End: String, CaseIterable, Sendable {
        /// All covered events are settled.
        case settled
        /// The flush timed out.
        case timeout
        /// The flush was cancelled, its remaining events are of removed dispatchers, or the service stopped.
        case cancelled
    }

    public struct Part: Sendable, Equatable {
        /// The number of delivered events.
        public var sent: Int
        /// The number of events that were dead-lettered, expired or evicted.
        public var failed: Int
        /// The number of events that are not settled.
        public var left: Int
        /// The barriers that hold the remaining events.
        public var blockedBy: [String]
    }
}
