import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// A destination that accepts or refuses each batch, and reports the outcome to the model.
final class ShareDestination: Sender {
    let id: String
    let format = BatchFormat.jsonArray
    private let model: ShareModel
    private var waiting: [(numbers: [SequenceNumber], then: (SendResult) -> Void)] = []

    init(_ id: String, _ model: ShareModel) {
        (self.id, self.model) = (id, model)
    }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        waiting.append((batch.events.map(\.sequenceNumber), then))
    }

    /// Answers the oldest batch, if there is one.
    func answer(_ record: Record) {
        guard !waiting.isEmpty else { return }
        let (numbers, then) = waiting.removeFirst()
        record.note("\(id) answers \(numbers.first ?? 0) to \(numbers.last ?? 0)")
        for number in numbers { model.settled(number, of: id) }
        then(record.oneIn(8) ? .refused(.init(.never, cause: "HTTP 400", status: 400)) : .delivered)
    }

    func interrupt() {
        let interrupted = waiting
        waiting = []
        for (_, then) in interrupted { then(.interrupted) }
    }

    func close() {}
}
