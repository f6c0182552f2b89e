import HeadgateData

/// How a flush ended that was waited for (Behaviour F2).
public struct FinishedFlush: Sendable, Equatable {
    /// How a flush can end.
    public enum End: String, Sendable {
        /// All that it covered is settled.
        case settled
        /// Its time ran out.
        case timeout
        /// Somebody cancelled it.
        case cancelled
    }

    /// What it did for one dispatcher.
    public struct Part: Sendable, Equatable {
        /// The dispatcher's id.
        public let dispatcher: String
        /// Events delivered.
        public let sent: Int
        /// Events dead, expired or evicted.
        public let failed: Int
        /// Events that are not settled.
        public let left: Int
        /// The ids of the barriers that hold what is left.
        public let blockedBy: [String]
    }

    /// The flush's id.
    public let flush: String
    /// How it ended.
    public let ended: End
    /// What it did for each dispatcher, in the daemon's order.
    public let dispatchers: [Part]

    /// Reads the result of `flush` with `wait`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: DataObject) throws(ClientError) {
        guard let ended = result.get(key: "ended", as: String.self).flatMap(End.init(rawValue:)) else {
            throw .badAnswer("a flush that did not end in a known way")
        }
        self.ended = ended
        flush = result.get(key: "flush") ?? ""
        dispatchers = (result.get(key: "dispatchers") ?? DataObject()).compactMap { id, part in
            part.get(as: DataObject.self).map { Part(dispatcher: id, $0) }
        }
    }
}

extension FinishedFlush.Part {
    fileprivate init(dispatcher: String, _ part: DataObject) {
        self.dispatcher = dispatcher
        sent = part.get(key: "sent") ?? 0
        failed = part.get(key: "failed") ?? 0
        left = part.get(key: "left") ?? 0
        blockedBy = part.get(key: "blocked_by") ?? []
    }
}
