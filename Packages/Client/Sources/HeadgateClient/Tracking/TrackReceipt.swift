import HeadgateWire

/// The daemon's acknowledgement of an event: it is stored with the configured durability (Behaviour P1), or there is
/// nothing to be stored.
public struct TrackReceipt: Sendable, Equatable {
    /// The event's id.
    public let id: String
    /// Its place among all events of the daemon; nil if it is unrouted.
    public let sequenceNumber: UInt64?
    /// Whether the daemon had the event already, so that it stored nothing (Behaviour Q7). That is a success: after a
    /// connection broke it is how the client learns that its event had arrived.
    public let isDuplicate: Bool
    /// Whether no dispatcher wants the event, so that it was not stored (Behaviour P3).
    public let isUnrouted: Bool

    /// Reads the result of `track`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: JSONView) throws(ClientError) {
        guard let id = result.member("id")?.string else { throw .badAnswer("a result of track without an id") }
        self.id = id
        sequenceNumber = result.member("seq")?.int.flatMap(UInt64.init(exactly:))
        isDuplicate = result.member("duplicate")?.bool ?? false
        isUnrouted = result.member("unrouted")?.bool ?? false
    }
}
