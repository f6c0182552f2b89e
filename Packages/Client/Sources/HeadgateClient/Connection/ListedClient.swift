import HeadgateData

/// A connected client (Protocol, `client.list`, and `watch` with the topic `clients`).
public struct ListedClient: Sendable, Equatable {
    /// The daemon's name for the connection.
    public let session: String
    /// The name and version that the client reported; nil if it reported none.
    public let client: String?
    /// The user of its process.
    public let uid: Int?
    /// The process id.
    public let pid: Int?
    /// The counts of its connection; nil in the topic, which only lists clients.
    public let traffic: Traffic?

    /// The counts of a client's connection.
    public struct Traffic: Sendable, Equatable {
        /// The age of the connection.
        public let connected: Duration
        /// The number of valid events from the client.
        public let received: Int
        /// The number of these events that were stored before (Behaviour Q7).
        public let duplicates: Int
        /// The number of these events that no dispatcher takes.
        public let unrouted: Int
        /// The number of these events that were refused because the queue was full or the store failed.
        public let rejected: Int
        /// The number of messages that were refused or failed.
        public let failed: Int
        /// The number of requests without an answer.
        public let unanswered: Int
        /// The number of bytes of answers that the client has not read.
        public let outputBytes: Int
        /// The reason why the daemon does not read from the client; nil while it reads (Behaviour X2).
        public let stopped: Stop?
    }

    /// A pause in which the daemon does not read from a client until there is room (Behaviour X2).
    public struct Stop: Sendable, Equatable {
        /// `unanswered`, `unanswered_bytes`, `unread_answers`, `storing` or `rate`. Later daemons may have other words.
        public let reason: String
        /// The time since the pause began.
        public let duration: Duration
    }

    /// Reads an entry. Missing members are empty.
    public init(_ entry: DataObject) {
        session = entry.get(key: "session") ?? ""
        client = entry.get(key: "client")
        uid = entry.get(key: "uid")
        pid = entry.get(key: "pid")
        traffic = Traffic(entry)
    }

    /// Reads the member `clients`. Returns nil if it is absent.
    public static func list(in result: DataObject) -> [ListedClient]? {
        result.get(key: "clients", as: [DataObject].self)?.map(ListedClient.init)
    }
}

extension ListedClient.Traffic {
    fileprivate init?(_ entry: DataObject) {
        guard let milliseconds: Int = entry.get(key: "connected_ms") else { return nil }
        func count(_ key: String) -> Int { entry.get(key: key) ?? 0 }
        connected = .milliseconds(milliseconds)
        received = count("received")
        duplicates = count("duplicates")
        unrouted = count("unrouted")
        rejected = count("rejected")
        failed = count("failed")
        unanswered = count("unanswered")
        outputBytes = count("output_bytes")
        stopped = entry.get(key: "stopped", as: DataObject.self).map(ListedClient.Stop.init)
    }
}

extension ListedClient.Stop {
    fileprivate init(_ stop: DataObject) {
        reason = stop.get(key: "reason") ?? ""
        duration = .milliseconds(stop.get(key: "for_ms", as: Int.self) ?? 0)
    }
}
