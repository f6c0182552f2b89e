/// When the events of a group become too old, on the age scale in milliseconds: so a sweeper looks into no group in which
/// none is (Behaviour Q4, Q6).
public struct GroupAges: Sendable, Equatable {
    /// When its first event was received.
    public private(set) var firstReceipt = Int64.max
    /// When its last event was received.
    public private(set) var lastReceipt = Int64.min
    /// When the first time to live in it ends; `Int64.max` when no event has one.
    public private(set) var firstExpiry = Int64.max
    /// When the last time to live in it ends; `Int64.min` when no event has one.
    public private(set) var lastExpiry = Int64.min

    /// Of no events.
    public init() {}

    /// Of events that lie together.
    public init(_ chunk: Chunk) {
        for event in chunk { add(receivedStamp: event.receivedStamp, expiryStamp: event.header.expiryStamp) }
    }

    mutating func add(receivedStamp: Int64, timeToLive: Duration?) {
        let expiry = RecordHeader.expiryStamp(of: timeToLive, receivedAt: receivedStamp)
        add(receivedStamp: receivedStamp, expiryStamp: expiry)
    }

    /// - Parameter expiryStamp: when the event is of no more use; 0 is never.
    private mutating func add(receivedStamp: Int64, expiryStamp: Int64) {
        firstReceipt = min(firstReceipt, receivedStamp)
        lastReceipt = max(lastReceipt, receivedStamp)
        guard expiryStamp != 0 else { return }
        firstExpiry = min(firstExpiry, expiryStamp)
        lastExpiry = max(lastExpiry, expiryStamp)
    }
}
