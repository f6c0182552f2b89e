import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer

/// An operator's calls about dead letters (Behaviour D10): lists, requeues and purges.
final class DeadLetterOperator {
    private let record: Record
    private let book: DeadLetterBook
    private weak var service: Service?

    init(_ record: Record, _ book: DeadLetterBook) {
        (self.record, self.book) = (record, book)
    }

    func lifeBegan(_ service: Service) {
        self.service = service
    }

    /// Returns true if the queue of a dispatcher is dropped and the drop is not written yet.
    private func isDropped(_ queue: String) -> Bool {
        service?.gate.settlements.unwrittenForgets.contains { book.queue($0) == queue } == true
    }

    func operate(_ connection: SimulatedClient, _ destination: SimulatedDestination) {
        switch record.number(0...3) {
        case 0: list(connection)
        case 1: purge(connection, which(destination))
        default: requeue(connection, which(destination))
        }
    }

    /// Returns a query for the dead letters of one dispatcher, of some numbers, or for all.
    private func which(_ destination: SimulatedDestination) -> String {
        let numbers = book.numbers
        switch record.number(0...2) {
        case 0: return "{}"
        case 1: return #"{"dispatcher":"\#(destination.id)"}"#
        default: return #"{"letters":[\#(numbers.isEmpty ? "1" : "\(record.pick(numbers))"),999999]}"#
        }
    }

    /// Lists all dead letters. Every stored one must be listed, and nothing else except ones just dead-lettered.
    func list(_ connection: SimulatedClient) {
        let before = book.written
        connection.ask("dead_letters.list", #"{"limit":1000}"#) { [self] result in
            guard case .array(let deadLetters)? = result?["dead_letters"] else { return }
            // Dead letters of a dropped dispatcher belong to no dispatcher, until that is written.
            let keys = deadLetters.compactMap(DeadLetterOperator.key)
            let reported = Set(keys)
            // A dead letter with a damaged record is listed without its event.
            guard !book.mayCorrupt else { return }
            record.expect(reported.count == keys.count, "dead letters are listed twice: \(keys)")
            // Earlier requests may have been carried out meanwhile.
            let missing = before.intersection(book.written).subtracting(book.forgotten).subtracting(reported)
                .filter { !isDropped($0.queue) }
            record.expect(missing.isEmpty, "dead letters \(missing) are not listed")
            let strange = reported.filter { !book.isKnown($0) }
            record.expect(strange.isEmpty, "\(strange) are listed but are no dead letters")
            if !reported.isEmpty { record.count(.deadLettersListed) }
        }
    }

    private static func key(_ item: DataItem) -> DeadLetterKey? {
        guard case .object(let deadLetter) = item, let queue = deadLetter["dispatcher"].flatMap(String.init(dataItem:)),
            case .object(let event)? = deadLetter["event"], let number = event["seq"].flatMap(Int.init(dataItem:))
        else { return nil }
        return DeadLetterKey(queue: queue, number: SequenceNumber(number))
    }

    private func requeue(_ connection: SimulatedClient, _ which: String) {
        let before = book.requeued
        connection.ask("dead_letters.requeue", which) { [self] result in
            guard let count = result?["count"].flatMap(Int.init(dataItem:)) else { return }
            record.expect(
                count == book.requeued - before, "\(count) are reported as requeued, not \(book.requeued - before)")
        }
    }

    private func purge(_ connection: SimulatedClient, _ which: String) {
        let before = book.purged
        connection.ask("dead_letters.purge", which) { [self] result in
            guard let count = result?["count"].flatMap(Int.init(dataItem:)) else { return }
            let there = book.purged - before
            record.expect(there <= count, "\(count) dead letters are reported as deleted, not \(there)")
        }
    }
}
