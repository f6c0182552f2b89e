import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// A destination that answers at random.
final class KeeperDestination: Sender {
    /// An event as the destination reads it.
    struct Event {
        let index: Int
        let number: SequenceNumber
        let attempt: Int
        let isReplayed: Bool
    }

    let format = BatchFormat.jsonArray
    let queue: KeeperQueue
    private let book: KeeperBook
    private let record: Record
    private var waiting: [(number: Int, events: [Event], then: (SendResult) -> Void)] = []
    /// The number of batches so far.
    private var sends = 0

    init(_ queue: KeeperQueue, _ book: KeeperBook, _ record: Record) {
        (self.queue, self.book, self.record) = (queue, book, record)
    }

    var hasWaiting: Bool { !waiting.isEmpty }
    /// The numbers of the batches that are not answered.
    var inFlight: Set<Int> { Set(waiting.map(\.number)) }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        let events = read(batch.body)
        record.insist(
            events.map(\.number) == batch.events.map(\.sequenceNumber), "\(queue.id) gets a body of other events")
        record.note("\(queue.id) gets \(events.map { "\($0.number)\($0.isReplayed ? " again" : "")" })")
        for event in events { book.knows(event.index, event.number) }
        queue.sent(events)
        sends += 1
        waiting.append((sends, events, then))
    }

    private func read(_ body: [UInt8]) -> [Event] {
        guard case .array(let items)? = try? DataItem(parsing: body) else { return [] }
        return items.compactMap { item in
            guard case .object(let event) = item, let id: String = event.get(key: "id"),
                let index = KeeperMarks.find(in: Array(id.utf8)).first, let number: Int = event.get(key: "seq")
            else { return nil }
            return Event(
                index: index, number: SequenceNumber(number), attempt: event.get(key: "attempt") ?? 0,
                isReplayed: event.get(key: "replayed") ?? false)
        }
    }

    /// Answers a batch, if there is one.
    func answer(isWell: Bool = false) {
        guard !waiting.isEmpty else { return }
        let (_, events, then) = waiting.remove(at: record.number(0...waiting.count - 1))
        let word = isWell ? 0 : record.number(0...9)
        record.note("\(queue.id) answers \(events.map(\.number)) by \(word)")
        switch word {
        case 0...6:
            for event in events { queue.settled(event.index) }
            then(.delivered)
        case 7: then(.refused(.init(.again, cause: "HTTP 500", status: 500)))
        case 8: then(.noAnswer(cause: "connection reset"))
        default:
            for event in events { queue.settled(event.index) }
            then(.refused(.init(.never, cause: "HTTP 400", status: 400)))
        }
    }

    func lifeEnded() { waiting = [] }

    func interrupt() {
        for batch in waiting { batch.then(.interrupted) }
        waiting = []
    }

    func close() {}
}
