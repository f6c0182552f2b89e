import HeadgateCore
import HeadgateCoreTesting
import Testing

/// A barrier that the run opens, closes, registers and unregisters, with its last known settings.
struct ModelBarrier {
    let id: String
    let barrier: SwitchBarrier
    var states: [String: BarrierState] = [:]
    var isFlushable = true
    /// The dispatchers in its scope; empty if the barrier is not registered.
    var scopes: Set<String> = []

    init(id: String) {
        self.id = id
        barrier = SwitchBarrier(.open)
    }

    /// True if the barrier lets a dispatcher's events pass.
    func lets(_ dispatcher: String, flushing: Bool) -> Bool {
        guard scopes.contains(dispatcher), states[dispatcher] == .closed else { return true }
        return flushing && isFlushable
    }
}

/// A flush that the run started.
struct ModelFlush {
    var target: SequenceNumber
    /// The number of events that the flush covers, by dispatcher.
    var covered: [String: Int]
    /// True if all covered events are certain to be stored.
    var isExact: Bool
}

/// An event offered by the run.
struct ModelEvent {
    var id: String?
    var key: String?
    var targets: Set<String>
    /// When the event expires, in milliseconds of the monotonic clock.
    var expiry: Int64?
    /// When the event was stored. A slow store may delay that.
    var storedAt = Instant(nanoseconds: 0)
}

/// A violation of a rule by the gate.
struct ModelFailure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The features that a random run uses. The fewer a run uses, the more precisely the model predicts it.
struct ModelProfile: Sendable, CustomTestStringConvertible {
    var name: String
    /// The batches in flight of the second dispatcher.
    var inFlight = 1
    var hasTimeToLive = false
    var dropsOldest = false
    var hasFaults = false
    /// True if destinations report an outcome for each event.
    var distinguishesEvents = false

    var testDescription: String { name }

    /// True if events may expire or be evicted without notice to the model.
    var losesSilently: Bool { hasTimeToLive || dropsOldest }

    /// True if each dispatcher settles its events in order, so that the model predicts the store's count exactly.
    var isOrderly: Bool { !losesSilently && inFlight == 1 && !distinguishesEvents }

    static let all = [
        ModelProfile(name: "plain"),
        ModelProfile(name: "faults", hasFaults: true),
        ModelProfile(name: "several batches in flight", inFlight: 3),
        ModelProfile(name: "outcomes per event", distinguishesEvents: true),
        ModelProfile(name: "time to live", hasTimeToLive: true),
        ModelProfile(name: "drop oldest", dropsOldest: true),
        ModelProfile(
            name: "everything", inFlight: 2, hasTimeToLive: true, dropsOldest: true, hasFaults: true,
            distinguishesEvents: true),
    ]
}
