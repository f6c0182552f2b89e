import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer
@testable import HeadgateWire

/// A worker's answer to a batch. Each named event gets the given outcome, and an invalid answer must never deliver an
/// event that the worker may have meant to refuse.
enum WorkersTarget {
    private static nonisolated(unsafe) let scanner = JSONScanner(maxDepth: 16)
    private static let ids = ["a", "b", "ü"]
    private static let batch = Batch(
        number: 1, body: [],
        events: ids.enumerated().map { Batch.Event(id: "\"\($1)\"", sequenceNumber: Int64($0), range: 0..<0) })

    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        guard let answer = try? scanner.scan(input) else { return -1 }
        let result = WorkerAnswer.result(of: .success(answer), for: batch)
        // The result for an event named twice is not specified.
        guard !saysTwice(answer.item, members: answer.member("outcomes")?.count) else { return 0 }
        let words = plainWords(answer.item)
        switch result {
        case .delivered: precondition(words == [.delivered, .delivered, .delivered])
        case .each(let outcomes):
            precondition(outcomes.count == ids.count)
            if let words { precondition(outcomes.map(word) == words) } else { mustAllGoAgain(outcomes) }
        default: preconditionFailure("\(result)")
        }
        return 0
    }

    private static func word(_ outcome: EventOutcome) -> WorkerAnswer.Word {
        switch outcome {
        case .delivered, .duplicate: .delivered
        case .retry: .retry
        case .dead: .dead
        }
    }

    private static func mustAllGoAgain(_ outcomes: [EventOutcome]) {
        for outcome in outcomes {
            guard case .retry(let cause, charged: true) = outcome else { preconditionFailure("\(outcome)") }
            precondition(cause.count <= 256)
        }
    }

    private static func saysTwice(_ answer: DataItem, members: Int?) -> Bool {
        guard case .object(let result) = answer, case .object(let named)? = result["outcomes"] else { return false }
        return Set(named.keys).count != members
    }

    /// A simple implementation to compare with. Returns nil for an invalid answer.
    private static func plainWords(_ answer: DataItem) -> [WorkerAnswer.Word]? {
        guard case .object(let result) = answer else { return nil }
        guard let outcomes = result["outcomes"] else { return ids.map { _ in .delivered } }
        guard case .object(let named) = outcomes, named.keys.allSatisfy(ids.contains)
        else { return nil }
        var words: [WorkerAnswer.Word] = []
        for id in ids {
            guard let item = named.first(where: { $0.key == id })?.value else {
                words.append(.delivered)
                continue
            }
            guard case .string(let text) = item, let word = WorkerAnswer.Word(rawValue: text) else { return nil }
            words.append(word)
        }
        return words
    }
}
