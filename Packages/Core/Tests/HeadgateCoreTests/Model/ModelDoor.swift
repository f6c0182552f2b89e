import HeadgateCore
import HeadgateCoreTesting
import Testing

/// A barrier that the run opens, closes, registers and takes away, and what it was told last.
struct ModelDoor {
    let id: String
    let barrier: SwitchBarrier
    var states: [String: BarrierState] = [:]
    var isFlushable = true
    /// The dispatchers that it stands before; empty when it is not registered.
    var scopes: Set<String> = []

    init(id: String) {
        self.id = id
        barrier = SwitchBarrier(.open)
    }

    /// Whether it lets a dispatcher's events through.
    func lets(_ dispatcher: String, flushing: Bool) -> Bool {
        guard scopes.contains(dispatcher), states[dispatcher] == .closed else { return true }
        return flushing && isFlushable
    }
}

/// A flush that the run began.
struct ModelFlush {
    var target: SequenceNumber
    /// How many events it covered of each dispatcher.
    var covered: [String: Int]
    /// Whether all that it covered is certain to be stored.
    var isExact: Bool
}

/// An event that the run offered.
struct ModelEvent {
    var id: String?
    var key: String?
    var targets: Set<String>
    /// When it is of no more use, in milliseconds of the monotonic clock.
    var expiry: Int64?
    /// When it was stored, which a slow store may put off.
    var storedAt = Instant(nanoseconds: 0)
}

/// What the gate did against the rules.
struct ModelFailure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }
}

/// What a random run may do: with fewer things going on, more can be foretold.
struct ModelProfile: Sendable, CustomTestStringConvertible {
    var name: String
    /// Batches in flight of the second dispatcher.
    var inFlight = 1
    var hasTimeToLive = false
    var dropsOldest = false
    var hasFaults = false
    /// Whether destinations tell the events of a batch apart.
    var tellsEventsApart = false

    var testDescription: String { name }

    /// Whether events leave the queue without a word to the model, by age or to make room.
    var losesSilently: Bool { hasTimeToLive || dropsOldest }

    /// Whether each dispatcher settles its events in order, so that the store's count can be foretold to the event.
    var isOrderly: Bool { !losesSilently && inFlight == 1 && !tellsEventsApart }

    static let all = [
        ModelProfile(name: "plain"),
        ModelProfile(name: "faults", hasFaults: true),
        ModelProfile(name: "several in flight", inFlight: 3),
        ModelProfile(name: "events told apart", tellsEventsApart: true),
        ModelProfile(name: "time to live", hasTimeToLive: true),
        ModelProfile(name: "drop oldest", dropsOldest: true),
        ModelProfile(
            name: "everything", inFlight: 2, hasTimeToLive: true, dropsOldest: true, hasFaults: true,
            tellsEventsApart: true),
    ]
}
