import HeadgateCore
import HeadgateData

extension AppendGroup {
    /// Returns a group as the queue creates it.
    public static func sample(
        _ events: [(number: SequenceNumber, route: RouteNumber)], size: Int = 40, received: Int64 = 1_000,
        timeToLive: Duration? = nil, newRoutes: [RouteNumber: [DispatcherNumber]] = [:], recentIDs: RecentIDs? = nil
    ) -> AppendGroup {
        var (writer, tallies): (RecordWriter, RouteTallies) = (RecordWriter(), [:])
        let data = #"{"n":""# + String(repeating: "x", count: size) + #""}"#
        for (number, route) in events {
            let bytes = EventDraft(id: "event-\(number)", data: data, timeToLive: timeToLive)
                .withTracked(route: route, spareId: "") { event in
                    writer.append(
                        event, sequenceNumber: number, receivedAt: Timestamp(milliseconds: received),
                        receivedStamp: received)
                }
            tallies.add(Tally(events: 1, bytes: bytes), route: route)
        }
        let chunk = Chunk(bytes: writer.take(), lastSequenceNumber: events.last?.number ?? 0)
        return AppendGroup(
            chunk: chunk, tallies: tallies, ages: GroupAges(chunk), newRoutes: newRoutes, recentIDs: recentIDs)
    }

    /// Returns a group of consecutive events with one route.
    public static func sample(
        _ numbers: ClosedRange<SequenceNumber>, route: RouteNumber = 1, size: Int = 40, received: Int64 = 1_000,
        timeToLive: Duration? = nil, newRoutes: [RouteNumber: [DispatcherNumber]] = [:], recentIDs: RecentIDs? = nil
    ) -> AppendGroup {
        sample(
            numbers.map { ($0, route) }, size: size, received: received, timeToLive: timeToLive, newRoutes: newRoutes,
            recentIDs: recentIDs)
    }
}

extension AppendGroup {
    /// Returns a group with the same events and other members.
    public func with(
        behind: SequenceNumber = 0, initialState: InitialState = InitialState(), forgottenIDs: SequenceNumber = 0,
        requeued: [DeadLetterNumber] = []
    ) -> AppendGroup {
        AppendGroup(
            chunk: chunk, behind: behind, tallies: tallies, ages: ages, newRoutes: newRoutes,
            initialState: initialState,
            recentIDs: recentIDs, forgottenIDs: forgottenIDs, requeued: requeued)
    }
}

extension StoredDispatcher {
    static func at(_ position: SequenceNumber, number: DispatcherNumber = 1, id: String = "collect") -> StoredDispatcher
    {
        StoredDispatcher(number: number, id: id, settled: Settled(through: position))
    }
}

extension DeadLetter {
    /// Returns a dead letter whose record contains an event.
    static func sample(_ number: SequenceNumber, dispatcher: DispatcherNumber = 1) -> DeadLetter {
        DeadLetter(
            dispatcher: dispatcher, sequenceNumber: number, reason: .maxAttempts, status: 503, answer: "busy",
            attempts: 100, firstFailedAt: Timestamp(milliseconds: 5), diedAt: Timestamp(milliseconds: 6),
            record: AppendGroup.sample(number...number).chunk.bytes)
    }
}
