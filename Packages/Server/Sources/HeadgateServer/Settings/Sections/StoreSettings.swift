import HeadgateData

/// How much the store keeps, and how long (Behaviour Q3, Q4, Q7).
public struct StoreSettings: Equatable, Sendable {
    /// Most events (Q4).
    public var maxEvents = 1_000_000
    /// Most bytes, counted as stored JSON (Q4).
    public var maxBytes = 1 << 30
    /// The age at which an event expires (Q4).
    public var maxAge = Duration.seconds(30 * 86_400)
    /// What happens to one event too many (Q4).
    public var overflow = Overflow.reject
    /// How long the same id of a client counts as the same event; zero: not at all (Q7).
    public var dedupeWindow = Duration.seconds(86_400)
    /// How long the queue of a dispatcher is kept that the settings no longer name (Q3).
    public var orphanRetention = Duration.seconds(7 * 86_400)

    public init() {}

    /// What happens to one event too many.
    public enum Overflow: String, CaseIterable, Sendable {
        /// The client gets `queue_full`.
        case reject
        /// The oldest that is not in flight goes.
        case dropOldest = "drop_oldest"
    }

    /// The settings under the names of the configuration.
    var object: DataObject {
        [
            "max_events": .number(DataNumber(maxEvents)),
            "max_bytes": .number(DataNumber(maxBytes)),
            "max_age_s": .init(seconds: maxAge),
            "overflow": .string(overflow.rawValue),
            "dedupe_window_s": .init(seconds: dedupeWindow),
            "orphan_retention_s": .init(seconds: orphanRetention),
        ]
    }

    mutating func read(_ reader: SettingsReader) {
        reader.integer("max_events", in: 1...SettingsReader.most, into: &maxEvents)
        reader.integer("max_bytes", in: 1...SettingsReader.most, into: &maxBytes)
        reader.seconds("max_age_s", into: &maxAge)
        reader.word("overflow", of: Overflow.allCases, into: &overflow)
        reader.seconds("dedupe_window_s", atLeast: 0, into: &dedupeWindow)
        reader.seconds("orphan_retention_s", atLeast: 0, into: &orphanRetention)
    }
}
