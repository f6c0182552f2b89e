import HeadgateData

/// What has become of one event, as the daemon tells it (Protocol, `event.trace`).
public struct ListedTrace: Sendable, Equatable {
    /// The event's id.
    public let id: String
    /// In which the id was given; nil where the daemon does not know it any more.
    public let namespace: String?
    /// The event's place in the order of acceptance.
    public let sequenceNumber: Int
    /// The event's name; nil where the daemon does not know it any more.
    public let event: String?
    /// When the daemon received it.
    public let receivedAt: Timestamp?
    /// How it stands with each dispatcher that it is for.
    public let ways: [Way]

    /// How an event stands with a dispatcher.
    public struct Way: Sendable, Equatable {
        /// The dispatcher's id.
        public let dispatcher: String
        /// One of the daemon's words: `pending`, `in_flight`, `delivered`, `dead`, `expired`, `evicted`, `purged`,
        /// `transformed_away`, or a later daemon's.
        public let state: String
        /// When it ended, or was sent.
        public let at: Timestamp?
        /// How often it was sent, the last time included.
        public let attempts: Int?
        /// What its last attempt failed of.
        public let lastError: String?
        /// How many of the dispatcher's events have to end before it.
        public let ahead: Int?
        /// The ids of the barriers that hold it.
        public let blockedBy: [String]
        /// The number of its dead letter.
        public let letter: Int?

        fileprivate init(_ dispatcher: String, _ entry: DataObject) {
            self.dispatcher = dispatcher
            state = entry.get(key: "state") ?? ""
            at = entry.get(key: "at", as: String.self).flatMap(Timestamp.init(rfc3339:))
            attempts = entry.get(key: "attempts")
            lastError = entry.get(key: "last_error")
            ahead = entry.get(key: "ahead")
            blockedBy = entry.get(key: "blocked_by") ?? []
            letter = entry.get(key: "letter")
        }
    }

    /// Reads an entry of `event.trace`. What is missing is taken for unknown.
    public init(_ entry: DataObject) {
        id = entry.get(key: "id") ?? ""
        namespace = entry.get(key: "namespace")
        sequenceNumber = entry.get(key: "seq") ?? 0
        event = entry.get(key: "event")
        receivedAt = entry.get(key: "received_at", as: String.self).flatMap(Timestamp.init(rfc3339:))
        ways = (entry.get(key: "dispatchers") ?? DataObject()).compactMap { dispatcher, way in
            way.get(as: DataObject.self).map { Way(dispatcher, $0) }
        }
    }

    /// Reads the member `events` of a result; nil if there is none.
    public static func list(in result: DataObject) -> [ListedTrace]? {
        result.get(key: "events", as: [DataObject].self)?.map(ListedTrace.init)
    }
}
