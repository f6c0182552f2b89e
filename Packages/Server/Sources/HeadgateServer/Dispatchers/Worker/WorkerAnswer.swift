import HeadgateCore
import HeadgateData
import HeadgateWire

/// The reader of a worker's answer to `dispatch` (Protocol, Server to client).
enum WorkerAnswer {
    /// The word by which a worker reports the outcome of one event.
    enum Word: String, CaseIterable {
        case delivered
        case retry
        case dead

        fileprivate var outcome: EventOutcome {
            switch self {
            case .delivered: .delivered
            case .retry: .retry(cause: "a worker requested another attempt", charged: true)
            case .dead: .dead(.refused, cause: "refused by a worker")
            }
        }
    }

    /// An answer that breaks the protocol. All events of the batch are sent again, because counting some as delivered
    /// might lose them.
    private struct Malformed: Error {
        let message: String
    }

    /// Returns the result of a batch.
    static func result(of answer: Result<JSONView, PeerFault>, for batch: Batch) -> SendResult {
        switch answer {
        case .success(let result): self.result(result, for: batch)
        case .failure(.refused(let error)): retry(batch, "worker: \(error.message)")
        case .failure(.gone): .lost(cause: WorkerPool.wentAway)
        }
    }

    private static func result(_ result: JSONView, for batch: Batch) -> SendResult {
        do throws(Malformed) {
            let words = try words(result, for: batch)
            guard words.values.contains(where: { $0 != .delivered }) else { return .delivered }
            return .each(batch.events.map { (words[$0.exactId] ?? .delivered).outcome })
        } catch {
            return retry(batch, "malformed answer from a worker: \(error.message)")
        }
    }

    /// Reads the outcomes of the events that the answer names, by the bytes of their ids.
    private static func words(_ result: JSONView, for batch: Batch) throws(Malformed) -> [[UInt8]: Word] {
        guard result.kind == .object else { throw Malformed(message: "the result must be an object") }
        guard let outcomes = result.member("outcomes") else { return [:] }
        guard let members = outcomes.members else { throw Malformed(message: "outcomes: must be an object") }
        let ids = Set(batch.events.map(\.exactId))
        var words: [[UInt8]: Word] = [:]
        for (key, value) in members {
            var id: [UInt8] = []
            key.appendExact(to: &id)
            guard ids.contains(id) else {
                throw Malformed(message: "outcomes: no event \(key.string ?? "") in the batch")
            }
            do throws(ParameterFault) {
                words[id] = try Shape<Word>.word.read(value)
            } catch {
                throw Malformed(message: "outcomes.\(key.string ?? ""): \(error.message)")
            }
        }
        return words
    }

    private static func retry(_ batch: Batch, _ cause: String) -> SendResult {
        let outcome = EventOutcome.retry(cause: cause.cut(toBytes: longestCause), charged: true)
        return .each(batch.events.map { _ in outcome })
    }

    /// The most bytes of a worker's error that are kept for people.
    private static let longestCause = 256
}
