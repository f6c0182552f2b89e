/// How large the groups of events become that are committed together, in bytes of their records (decision 46).
public struct GroupBounds: Sendable {
    /// With so many a group does not wait for the end of its turn, unless others are on their way.
    public var much = 64 << 10
    /// Nor does it with so many, although others are: still larger ones take memory that the system has to give anew each time. Where no more may
    /// be on their way senders are asked to wait.
    public var veryMuch = 512 << 10
    /// The most that is on its way to the store, unless it is one group that has more.
    public var mostCommitting = 4 << 20

    /// What fits machines of all sizes.
    public init() {}
}
