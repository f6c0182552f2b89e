/// What a sweeper asks a store for: the events of a stretch that are too old, and were not when it last looked
/// (Behaviour Q4).
public struct AgedStretch: Sendable, Equatable {
    /// The stretch begins behind this event.
    public var after: SequenceNumber
    /// The last event of the stretch.
    public var through: SequenceNumber
    public var limit: AgeLimit
    /// What was too old when the stretch was looked through before; nil when it never was.
    public var earlier: AgeLimit?

    public init(after: SequenceNumber, through: SequenceNumber, limit: AgeLimit, earlier: AgeLimit?) {
        self.after = after
        self.through = through
        self.limit = limit
        self.earlier = earlier
    }

    /// Whether a group may hold such events.
    public func asksFor(_ ages: GroupAges) -> Bool {
        limit.mayBeExceeded(by: ages, since: earlier ?? .none)
    }
}
