import HeadgateData

/// A client that is connected to the daemon (Protocol, `client.list`, and `watch` with the topic `clients`).
public struct ListedClient: Sendable, Equatable {
    /// The daemon's name for its connection.
    public let session: String
    /// Its name and version, if it told them.
    public let client: String?
    /// The user whom its process belongs to.
    public let uid: Int?
    /// Its process.
    public let pid: Int?
    /// What went over its connection; nil in the topic, which tells only who is there.
    public let traffic: Traffic?

    /// What a client sent, and what it is owed.
    public struct Traffic: Sendable, Equatable {
        /// How long it has been connected.
        public let connected: Duration
        /// Valid events that it sent, whatever became of them.
        public let received: Int
        /// Of those: stored already (Behaviour Q7).
        public let duplicates: Int
        /// Of those: wanted by no dispatcher.
        public let unrouted: Int
        /// Of those: refused because there was no room, or the store failed.
        public let rejected: Int
        /// Messages that were refused or failed.
        public let failed: Int
        /// Requests that are being worked on.
        public let unanswered: Int
        /// Bytes of answers that it has not taken.
        public let outputBytes: Int
        /// Why nothing is read from it; nil while it is read (Behaviour X2).
        public let stopped: Stop?
    }

    /// That the daemon reads nothing from a client until there is room (Behaviour X2).
    public struct Stop: Sendable, Equatable {
        /// `unanswered`, `unanswered_bytes`, `unread_answers` or `storing`; later daemons may have others.
        public let reason: String
        /// How long already.
        public let duration: Duration
    }

    /// Reads an entry. What is missing is taken for empty.
    public init(_ entry: DataObject) {
        session = entry.get(key: "session") ?? ""
        client = entry.get(key: "client")
        uid = entry.get(key: "uid")
        pid = entry.get(key: "pid")
        traffic = Traffic(entry)
    }

    /// Reads the member `clients`; nil if there is none.
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
