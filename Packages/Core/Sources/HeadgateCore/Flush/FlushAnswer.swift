/// How a flush ended (Behaviour F2).
public struct FlushAnswer: Sendable, Equatable {
    public var ended: End
    /// What it did for each dispatcher.
    public var dispatchers: [String: Part]

    public enum End: String, Sendable {
        /// All that it covered is settled.
        case settled
        /// Its time ran out.
        case timeout
        /// Somebody cancelled it.
        case cancelled
    }

    public struct Part: Sendable, Equatable {
        /// Events delivered.
        public var sent: Int
        /// Events dead, expired or evicted.
        public var failed: Int
        /// Events not settled.
        public var left: Int
        /// The barriers that hold what is left.
        public var blockedBy: [String]
    }
}

/// Why a flush does not begin.
public enum FlushRefusal: Error, Equatable, Sendable {
    case unknownDispatcher(String)
    /// A flush of this name is under way.
    case idInUse
}
