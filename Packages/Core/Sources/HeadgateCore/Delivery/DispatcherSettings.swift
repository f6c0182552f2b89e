import HeadgateData

/// The settings that all kinds of dispatchers have, with the defaults of Behaviour D1, D3, D4, D9, D13.
public struct DispatcherSettings: Sendable, Equatable {
    /// The dispatcher's name.
    public var id: String
    /// The most events in a batch (D1).
    public var dispatchLimit = 25
    /// The most bytes in a batch, as it is sent (D1).
    public var byteLimit = 40_000
    /// The most batches in flight (Q2).
    public var inFlight = 1
    /// The upper limit of ``inFlight``.
    public static let mostInFlight = 1024
    /// The upper limit of ``dispatchLimit`` times ``inFlight``. The buffer, which is in memory, holds at most about
    /// twice as many events (Q6).
    public static let mostBuffered = 1_000_000
    /// The number of charged attempts after which an event is dead-lettered (D9).
    public var maxAttempts = 100
    /// The time after the first charged attempt for which an event is tried. Only time in which the destination
    /// answered counts (D9).
    public var maxRetryAge = Duration.seconds(12 * 3600)
    /// The upper bound of the first wait (D4).
    public var backoffBase = Duration.milliseconds(500)
    /// The upper bound of every wait (D4).
    public var backoffCap = Duration.seconds(300)
    /// True if failed requests are retried (D3).
    public var retryFailedRequests = true
    /// The events that are annotated because a barrier held them (D13).
    public var annotateQueued = AnnotateQueued.all
    /// The board that must complete before the dispatcher sends (A9); nil for none.
    public var activationBarrier: DispatcherActivation?
    /// The id of a removed dispatcher whose queue this one takes over (Q3); nil for none.
    public var formerly: String?
    /// The event at which the dispatcher starts if it is new (R4).
    public var start = DispatcherStart.newest
    /// The condition for events of this dispatcher (P3); nil for all events.
    public var loadRule: Rule?

    public init(id: String) {
        self.id = id
    }

    /// The size of pending events in the buffer from which no more are read. It is enough for all batches, even if a
    /// transformation shrinks the events (Q6).
    var mostBytesAhead: Int { 4 << 20 + min(byteLimit, 1 << 40) * inFlight }
}

/// The events that are annotated because a barrier held them (Behaviour D13).
public enum AnnotateQueued: Sendable, Equatable, ExpressibleByBooleanLiteral {
    /// Every event that a barrier held.
    case all
    /// No event.
    case none
    /// The events that a barrier with one of these reason words held.
    case words(Set<String>)

    public init(booleanLiteral value: Bool) {
        self = value ? .all : .none
    }

    /// Returns true if an event that was held for these reasons is annotated.
    func includes(_ reasons: [String]) -> Bool {
        switch self {
        case .all: !reasons.isEmpty
        case .none: false
        case .words(let words): reasons.contains(where: words.contains)
        }
    }
}

/// The oldest event that a dispatcher gets if it is new in the settings (Behaviour R4).
public enum DispatcherStart: Sendable, Equatable {
    /// The event after the newest one.
    case newest
    /// The oldest event that the store has.
    case oldest
    /// The event that a sequence number or a time names, or the oldest event that the store has if that is later.
    case at(RewindTarget)
}

/// The activation barrier of a dispatcher: a board that must complete before the dispatcher sends (Behaviour A9).
public struct DispatcherActivation: Sendable, Equatable {
    public var board: String
    /// The time for which a completion is valid; nil for validity until a 401 or a restart.
    public var sticky: Duration?
    /// The names of output members that the dispatcher needs for sending.
    public var outputs: Set<String> = []

    public init(board: String, sticky: Duration? = nil) {
        self.board = board
        self.sticky = sticky
    }
}

extension DispatcherActivation {
    /// The configuration as it is written in settings.
    var configuration: DataObject {
        var configuration: DataObject = ["board": .string(board)]
        if let sticky { configuration["sticky_ms"] = .number(DataNumber(Int(sticky.wholeMilliseconds))) }
        return configuration
    }
}
