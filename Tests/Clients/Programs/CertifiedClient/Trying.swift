import Foundation
import HeadgateClient
import HeadgateData
import Synchronization

/// Tracks events without waiting for room, and writes the outcome of each.
struct Trying {
    private let words: ProgramWords
    private let count: Int
    private let event: OutgoingEvent
    private let outcomes = Outcomes()

    /// The refused events, by number.
    private final class Outcomes: Sendable {
        private let state = Mutex<(errors: [Int: DataObject], isTrying: Bool)>(([:], true))

        func add(_ error: any Error, to number: Int) {
            let outcome = Result<DataObject, any Error>.failure(error).outcome
            let isTrying = state.withLock { state in
                state.errors[number] = outcome
                return state.isTrying
            }
            if isTrying { Trying.put(outcome, number) }
        }

        /// Ends the trial, and returns the numbers of the refused events.
        func end() -> Set<Int> {
            state.withLock { state in
                state.isTrying = false
                return Set(state.errors.keys)
            }
        }

        subscript(number: Int) -> DataObject? { state.withLock { $0.errors[number] } }
    }

    init(_ words: ProgramWords) throws {
        guard words.operands.count >= 2, let count = Int(words.operands[0]) else {
            throw UsageError("try COUNT NAME [BYTES]")
        }
        (self.words, self.count) = (words, count)
        var data: DataObject = [:]
        if words.operands.count > 2, let bytes = Int(words.operands[2]) {
            data["text"] = .string(String(repeating: "x", count: bytes))
        }
        event = OutgoingEvent(words.operands[1], data: data)
    }

    func run() async throws {
        let prefix = UUID().uuidString + "-"
        var words = words
        words.follow { [outcomes] id, error in
            if let number = Int(id.dropFirst(prefix.count)) { outcomes.add(error, to: number) }
        }
        let client = try words.client()
        for number in 0..<count {
            var next = event
            next.data["n"] = .number(DataNumber(number))
            next.id = prefix + String(number)
            client.trackSoon(next)
        }
        let refused = outcomes.end()
        Output.put("tried")
        await client.drain(within: .seconds(3_600))
        for number in 0..<count where !refused.contains(number) {
            Trying.put(outcomes[number] ?? ["result": .null], number)
        }
        await client.close()
    }

    private static func put(_ outcome: DataObject, _ number: Int) {
        var line = outcome
        line["n"] = .number(DataNumber(number))
        Output.put(.object(line))
    }
}

extension ProgramWords {
    /// Sets a function that is called for each dropped event.
    fileprivate mutating func follow(_ onDropped: @escaping @Sendable (String, any Error) -> Void) {
        options.onDropped = onDropped
    }
}
