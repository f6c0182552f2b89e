import HeadgateData

/// The trace of one event (Protocol, `event.trace`).
public struct ListedTrace: Sendable, Equatable {
    /// The event's id.
    public let id: String
    /// The namespace of the id; nil if the daemon no longer knows it.
    public let namespace: String?
    /// The event's number in the order of acceptance.
    public let sequenceNumber: Int
    /// The event's name; nil if the daemon no longer knows it.
    public let event: String?
    /// The time of its receipt.
    public let receivedAt: Timestamp?
    /// The event's state for each of its dispatchers.
    public let dispatchers: [DispatcherTrace]

    /// The state of an event for a dispatcher.
    public struct DispatcherTrace: Sendable, Equatable {
        /// The dispatcher's id.
        public let dispatcher: String
        /// The state in the daemon's words: `pending`, `in_flight`, `delivered`, `dead`, `expired`, `evicted`,
        /// `purged`, `transformed_away`, or a later daemon's.
        public let state: String
        /// The time of its end, or of the last attempt.
        public let at: Timestamp?
        /// The number of attempts, with the last one.
        public let attempts: Int?
        /// The error of the last attempt.
        public let lastError: String?
        /// The number of the dispatcher's events before it.
        public let ahead: Int?
        /// The ids of the barriers that block it.
        public let blockedBy: [String]
        /// The number of its dead letter.
        public let deadLetter: Int?
        /// True if a rewind made the event pending again (Behaviour R2).
        public let isReplayed: Bool

        fileprivate init(_ dispatcher: String, _ entry: DataObject) {
            self.dispatcher = dispatcher
            state = entry.get(key: "state") ?? ""
            at = entry.get(key: "at", as: String.self).flatMap(Timestamp.init(rfc3339:))
            attempts = entry.get(key: "attempts")
            lastError = entry.get(key: "last_error")
            ahead = entry.get(key: "ahead")
            blockedBy = entry.get(key: "blocked_by") ?? []
            deadLetter = entry.get(key: "letter")
            isReplayed = entry.get(key: "replayed") ?? false
        }
    }

    /// Reads an entry of `event.trace`. Missing members are unknown.
    public init(_ entry: DataObject) {
        id = entry.get(key: "id") ?? ""
        namespace = entry.get(key: "namespace")
        sequenceNumber = entry.get(key: "seq") ?? 0
        event = entry.get(key: "event")
        receivedAt = entry.get(key: "received_at", as: String.self).flatMap(Timestamp.init(rfc3339:))
        dispatchers = (entry.get(key: "dispatchers") ?? DataObject()).compactMap { dispatcher, trace in
            trace.get(as: DataObject.self).map { DispatcherTrace(dispatcher, $0) }
        }
    }

    /// Reads the member `events` of a result. Returns nil if it is absent.
    public static func list(in result: DataObject) -> [ListedTrace]? {
        result.get(key: "events", as: [DataObject].self)?.map(ListedTrace.init)
    }
}
