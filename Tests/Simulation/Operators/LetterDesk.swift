import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer

/// What an operator does with dead letters (Behaviour D10): looks at them, has them go again, and deletes them.
final class LetterDesk {
    private let record: Record
    private let book: LetterBook
    private weak var service: Service?

    init(_ record: Record, _ book: LetterBook) {
        (self.record, self.book) = (record, book)
    }

    func lifeBegan(_ service: Service) {
        self.service = service
    }

    /// Whether a dispatcher is given up, though that could not be written down yet, nor asked for.
    private func isGivenUp(_ lane: String) -> Bool {
        service?.gate.settlements.unwrittenForgets.contains { book.lane($0) == lane } == true
    }

    func operate(_ connection: SimulatedClient, _ side: FarSide) {
        switch record.number(0...3) {
        case 0: list(connection)
        case 1: purge(connection, which(side))
        default: requeue(connection, which(side))
        }
    }

    /// Which letters are meant: those of one dispatcher, those of some numbers, or all.
    private func which(_ side: FarSide) -> String {
        let numbers = book.numbers
        switch record.number(0...2) {
        case 0: return "{}"
        case 1: return #"{"dispatcher":"\#(side.id)"}"#
        default: return #"{"letters":[\#(numbers.isEmpty ? "1" : "\(record.pick(numbers))"),999999]}"#
        }
    }

    /// Lists all: what has been written down is told, and nothing else but what has just died.
    func list(_ connection: SimulatedClient) {
        let before = book.written
        connection.ask("dead_letters.list", #"{"limit":1000}"#) { [self] result in
            guard case .array(let letters)? = result?["dead_letters"] else { return }
            // Those of a dispatcher that is given up are nobody's, until that can be written down.
            let keys = letters.compactMap(LetterDesk.key)
            let told = Set(keys)
            // A letter whose record has rotted is listed without its event.
            guard !book.mayRot else { return }
            record.expect(told.count == keys.count, "letters are listed twice: \(keys)")
            // What was asked for before may have been done meanwhile.
            let missing = before.intersection(book.written).subtracting(book.forgotten).subtracting(told)
                .filter { !isGivenUp($0.lane) }
            record.expect(missing.isEmpty, "\(missing) are letters, and not listed")
            let strange = told.filter { !book.isKnown($0) }
            record.expect(strange.isEmpty, "\(strange) are listed, and are no letters")
            if !told.isEmpty { record.count(.lettersListed) }
        }
    }

    private static func key(_ item: DataItem) -> LetterKey? {
        guard case .object(let letter) = item, let lane = letter["dispatcher"].flatMap(String.init(dataItem:)),
            case .object(let event)? = letter["event"], let number = event["seq"].flatMap(Int.init(dataItem:))
        else { return nil }
        return LetterKey(lane: lane, number: SequenceNumber(number))
    }

    private func requeue(_ connection: SimulatedClient, _ which: String) {
        let before = book.requeued
        connection.ask("dead_letters.requeue", which) { [self] result in
            guard let count = result?["count"].flatMap(Int.init(dataItem:)) else { return }
            record.expect(
                count == book.requeued - before, "\(count) are told requeued, and \(book.requeued - before) are")
        }
    }

    private func purge(_ connection: SimulatedClient, _ which: String) {
        let before = book.purged
        connection.ask("dead_letters.purge", which) { [self] result in
            guard let count = result?["count"].flatMap(Int.init(dataItem:)) else { return }
            let there = book.purged - before
            record.expect(there <= count, "\(count) letters are told deleted, and \(there) are")
        }
    }
}
