import HeadgateData

/// What all kinds of dispatchers can be told, with the defaults of Behaviour D1, D3, D4, D9, D13.
public struct DispatcherSettings: Sendable, Equatable {
    /// The dispatcher's name.
    public var id: String
    /// Most events in a batch (D1).
    public var dispatchLimit = 25
    /// Most bytes of a batch as it is sent (D1).
    public var byteLimit = 40_000
    /// Batches on their way at once (Q2).
    public var inFlight = 1
    /// The most that `inFlight` may be.
    public static let mostInFlight = 1024
    /// The most that `dispatchLimit` times `inFlight` may be: about twice as many events are in hand, and in memory, at the
    /// most (Q6).
    public static let mostInHand = 1_000_000
    /// Charged attempts after which an event is given up (D9).
    public var maxAttempts = 100
    /// How long an event is tried after its first charged attempt; only time in which the destination answered counts (D9).
    public var maxRetryAge = Duration.seconds(12 * 3600)
    /// The first wait's upper end (D4).
    public var backoffBase = Duration.milliseconds(500)
    /// Every wait's upper end (D4).
    public var backoffCap = Duration.seconds(300)
    /// Whether failed requests are retried at all (D3).
    public var retryFailedRequests = true
    /// Which events that a barrier held say so (D13).
    public var annotateQueued = AnnotateQueued.all
    /// The board that has to complete before it gets anything (A9).
    public var activationBarrier: DispatcherActivation?
    /// A dispatcher that is configured no more, whose queue this one takes over (Q3).
    public var formerly: String?
    /// Which events it gets; nil is all (P3).
    public var loadRule: Rule?

    public init(id: String) {
        self.id = id
    }

    /// With so many bytes of events waiting in hand no more are read, however many a batch may have: enough for all batches, also where a
    /// transformation leaves little of them (Q6).
    var mostBytesAhead: Int { 4 << 20 + min(byteLimit, 1 << 40) * inFlight }
}

/// Which events say that a barrier held them (Behaviour D13).
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

    /// Returns true if an event says so that was held for these reasons.
    func includes(_ reasons: [String]) -> Bool {
        switch self {
        case .all: !reasons.isEmpty
        case .none: false
        case .words(let words): reasons.contains(where: words.contains)
        }
    }
}

/// The board that has to complete before a dispatcher gets anything (Behaviour A9).
public struct DispatcherActivation: Sendable, Equatable {
    public var board: String
    /// How long its completion counts; nil: until a 401 or a restart.
    public var sticky: Duration?
    /// What the board has to put out, by the members' names: the dispatcher cannot send without.
    public var outputs: Set<String> = []

    public init(board: String, sticky: Duration? = nil) {
        self.board = board
        self.sticky = sticky
    }
}

extension DispatcherActivation {
    /// As the settings have it.
    var configuration: DataObject {
        var configuration: DataObject = ["board": .string(board)]
        if let sticky { configuration["sticky_ms"] = .number(DataNumber(Int(sticky.wholeMilliseconds))) }
        return configuration
    }
}
