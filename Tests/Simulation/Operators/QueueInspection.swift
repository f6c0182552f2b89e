import HeadgateCore
import HeadgateData

/// An operator's `queue.peek` of a dispatcher, page by page.
final class QueueInspection {
    private let record: Record
    private let destination: SimulatedDestination
    /// The state when the call was made.
    private let waiting: Set<SequenceNumber>
    private let ended: Set<SequenceNumber>
    private let sentBefore: Int
    private let lostBefore: Int
    private let inFlight: Set<SequenceNumber>
    private var seen: [SequenceNumber] = []

    init(_ record: Record, _ destination: SimulatedDestination) {
        (self.record, self.destination) = (record, destination)
        (waiting, ended) = (destination.queue.waiting, destination.queue.delivered.union(destination.queue.dead))
        (sentBefore, inFlight, lostBefore) = (destination.sent.count, destination.inFlight, destination.lost())
    }

    func begin(_ connection: SimulatedClient) {
        ask(connection, after: 0)
    }

    private func ask(_ connection: SimulatedClient, after: SequenceNumber) {
        let limit = record.pick([1, 3, 1_000])
        let params = #"{"dispatcher":"\#(destination.id)","limit":\#(limit),"after":\#(after)}"#
        connection.ask("queue.peek", params) { [self] in take($0, limit, after: after, connection) }
    }

    private func take(_ result: DataObject?, _ limit: Int, after: SequenceNumber, _ connection: SimulatedClient) {
        guard let result, case .array(let events)? = result["events"] else { return }
        let numbers = events.compactMap(QueueInspection.number)
        record.expect(numbers.count <= limit, "\(numbers.count) events are shown, not \(limit)")
        record.expect(
            numbers == numbers.sorted() && numbers.allSatisfy { $0 > after }, "\(numbers) come after \(after)")
        for number in numbers {
            record.expect(!ended.contains(number), "\(destination.id) shows \(number), which has ended")
            // An event that has ended meanwhile was pending before.
            let isThere = waiting.contains(number) || destination.queue.isKnown(number)
            record.expect(isThere, "\(destination.id) shows \(number), which is not for it")
        }
        seen += numbers
        guard let next = result["next"].flatMap(Int.init(dataItem:)) else { return end() }
        ask(connection, after: SequenceNumber(next))
    }

    private static func number(_ item: DataItem) -> SequenceNumber? {
        guard case .object(let event) = item else { return nil }
        return event["seq"].flatMap(Int.init(dataItem:)).map(SequenceNumber.init)
    }

    /// Checks that every event that was pending all the time was listed, unless events were dropped.
    private func end() {
        record.expect(Set(seen).count == seen.count, "\(destination.id) shows an event twice")
        guard destination.lost() == lostBefore, destination.sent.count >= sentBefore else { return }
        let moved = inFlight.union(destination.sent[sentBefore...])
        let missing = waiting.intersection(destination.queue.waiting).subtracting(moved).subtracting(seen)
            .filter { !destination.queue.ages.isOver($0) }.subtracting(destination.unclear)
        record.expect(missing.isEmpty || lostBefore > 0, "\(destination.id) does not show \(missing.sorted())")
        if !seen.isEmpty { record.count(.peeked) }
    }
}
