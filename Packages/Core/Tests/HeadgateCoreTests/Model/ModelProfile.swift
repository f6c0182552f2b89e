import Testing

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
