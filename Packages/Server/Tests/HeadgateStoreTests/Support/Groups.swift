import HeadgateCore
import HeadgateData

@testable import HeadgateCore

/// Makes groups of events as the queue would.
enum Groups {
    /// Returns a group of events with these numbers and routes.
    static func of(
        _ events: [(number: SequenceNumber, route: RouteNumber)], size: Int = 40,
        received: Int64 = 1_000, timeToLive: Duration? = nil,
        newRoutes: [RouteNumber: [DispatcherNumber]] = [:], recentIDs: RecentIDs? = nil
    ) -> AppendGroup {
        var writer = RecordWriter()
        var tallies = RouteTallies()
        for (number, route) in events {
            let bytes = write(number, route, size, received, timeToLive, into: &writer)
            tallies.add(Tally(events: 1, bytes: bytes), route: route)
        }
        let chunk = Chunk(bytes: writer.take(), lastSequenceNumber: events.last?.number ?? 0)
        return AppendGroup(
            chunk: chunk, tallies: tallies, ages: GroupAges(chunk), newRoutes: newRoutes, recentIDs: recentIDs)
    }

    /// Returns a group of consecutive events of one route.
    static func of(
        _ numbers: ClosedRange<SequenceNumber>, route: RouteNumber = 1, size: Int = 40,
        received: Int64 = 1_000, timeToLive: Duration? = nil,
        newRoutes: [RouteNumber: [DispatcherNumber]] = [:], recentIDs: RecentIDs? = nil
    ) -> AppendGroup {
        of(
            numbers.map { ($0, route) }, size: size, received: received, timeToLive: timeToLive, newRoutes: newRoutes,
            recentIDs: recentIDs)
    }

    private static func write(
        _ number: SequenceNumber, _ route: RouteNumber, _ size: Int, _ received: Int64, _ timeToLive: Duration?,
        into writer: inout RecordWriter
    ) -> Int {
        let id = Array("\"event-\(number)\"".utf8)
        let name = Array("\"order\"".utf8)
        let data = Array("{\"n\":\"".utf8) + Array(repeating: UInt8(ascii: "x"), count: size) + Array("\"}".utf8)
        return id.withUnsafeBytes { id in
            name.withUnsafeBytes { name in
                data.withUnsafeBytes { data in
                    writer.append(
                        event(id, name, data, route, timeToLive), sequenceNumber: number,
                        receivedAt: Timestamp(milliseconds: received), receivedStamp: received)
                }
            }
        }
    }

    private static func event(
        _ id: UnsafeRawBufferPointer, _ name: UnsafeRawBufferPointer, _ data: UnsafeRawBufferPointer,
        _ route: RouteNumber, _ timeToLive: Duration?
    ) -> TrackedEvent {
        // The bytes of a `StaticString` are never freed.
        let context: StaticString = "{}"
        return TrackedEvent(
            id: id, identity: nil, name: name, time: nil, key: nil, timeToLive: timeToLive,
            context: UnsafeRawBufferPointer(start: context.utf8Start, count: 2), data: data, route: route)
    }
}

extension StoredDispatcher {
    static func at(_ position: SequenceNumber, number: DispatcherNumber = 1, id: String = "collect") -> StoredDispatcher
    {
        StoredDispatcher(number: number, id: id, settled: Settled(through: position))
    }
}

extension DeadLetter {
    static func sample(
        _ number: SequenceNumber, dispatcher: DispatcherNumber = 1, record: [UInt8] = Array("{}".utf8)
    ) -> DeadLetter {
        DeadLetter(
            dispatcher: dispatcher, sequenceNumber: number, reason: .maxAttempts, status: 503, answer: "busy",
            attempts: 100, firstFailedAt: Timestamp(milliseconds: 5), diedAt: Timestamp(milliseconds: 6), record: record
        )
    }
}
