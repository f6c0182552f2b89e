/// What is too old at some moment, on the age scale in milliseconds (Behaviour Q4).
public struct AgeLimit: Sendable, Equatable {
    /// Events that were received at or before this stamp are too old for the store.
    public var receivedBy: Int64
    /// A time to live that ends at or before this stamp is over.
    public var endedBy: Int64

    public init(receivedBy: Int64, endedBy: Int64) {
        self.receivedBy = receivedBy
        self.endedBy = endedBy
    }

    /// Nothing is too old.
    static let none = AgeLimit(receivedBy: .min, endedBy: .min)

    /// Whether an event is too old.
    public func isExceeded(by event: StoredEvent) -> Bool {
        event.receivedStamp <= receivedBy || event.isExpired(at: endedBy)
    }

    /// Whether a group may hold an event that is too old by this limit and was not by an earlier one.
    public func mayBeExceeded(by ages: GroupAges, since earlier: AgeLimit) -> Bool {
        let isReceipt = earlier.receivedBy < ages.lastReceipt && ages.firstReceipt <= receivedBy
        let isExpiry = earlier.endedBy < ages.lastExpiry && ages.firstExpiry <= endedBy
        return isReceipt || isExpiry
    }

    /// What is too old by either.
    func union(_ other: AgeLimit) -> AgeLimit {
        AgeLimit(receivedBy: max(receivedBy, other.receivedBy), endedBy: max(endedBy, other.endedBy))
    }
}
