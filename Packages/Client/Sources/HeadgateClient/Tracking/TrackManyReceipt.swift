import HeadgateWire

/// The daemon's acknowledgement of several events that it took together (Behaviour P1).
public struct TrackManyReceipt: Sendable, Equatable {
    /// The events' ids, in their order.
    public let ids: [String]
    /// The lowest of the events' places among all events of the daemon; nil if all are unrouted.
    public let firstSequenceNumber: UInt64?
    /// The highest of the events' places; nil if all are unrouted.
    public let lastSequenceNumber: UInt64?
    /// How many the daemon had already (Behaviour Q7).
    public let duplicates: Int
    /// How many no dispatcher wants (Behaviour P3).
    public let unrouted: Int

    /// Reads the result of `track_many`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: JSONView) throws(ClientError) {
        guard let ids = result.member("ids")?.elements else { throw .badAnswer("a result of track_many without ids") }
        self.ids = ids.compactMap(\.string)
        firstSequenceNumber = result.member("first_seq")?.int.flatMap(UInt64.init(exactly:))
        lastSequenceNumber = result.member("last_seq")?.int.flatMap(UInt64.init(exactly:))
        duplicates = result.member("duplicates")?.int.flatMap(Int.init(exactly:)) ?? 0
        unrouted = result.member("unrouted")?.int.flatMap(Int.init(exactly:)) ?? 0
    }
}
