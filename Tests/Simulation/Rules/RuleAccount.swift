import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// The model of rules and transformations: the dispatchers of each event, and the content that each gets (Behaviour P3,
/// P4, P6).
final class RuleAccount {
    /// Returns members of a client's event data: a number that must arrive with all its digits, and a mark for events
    /// that only `a` may get.
    static func data(isNarrowed: Bool) -> String {
        #","raw":1.50E+2\#(isNarrowed ? #","only":true"# : "")"#
    }

    private static let raw = Array(#""raw":1.50E+2"#.utf8)

    private let record: Record
    private let queue: (String) -> QueueModel
    private let first: Rulebook
    /// Rules that may be in force, and rules that may have been since the last group went to the store.
    private var current: [Rulebook]
    private var possible: [Rulebook]
    private var stored: [SequenceNumber: Content] = [:]
    /// The number of events dropped before and after the store, and of errors, in this life.
    private var droppedBefore = 0
    private var droppedBehind = 0
    private var failures = 0

    init(_ record: Record, _ first: Rulebook, queue: @escaping (String) -> QueueModel) {
        (self.record, self.first, self.queue) = (record, first, queue)
        (current, possible) = ([first], [first])
    }

    func lifeEnded() {
        (current, possible) = ([first], [first])
        (droppedBefore, droppedBehind, failures) = (0, 0, 0)
    }

    // MARK: Rules in force

    /// Records a request for other rules. They may be in force from now on, and are once the request is answered.
    func requested(for book: Rulebook) {
        current.append(book)
        possible.append(book)
    }

    func answered(_ book: Rulebook) {
        record.count(.rulesChanged)
        current = [book]
    }

    // MARK: Before the store

    /// Checks an event that is given to the store for some dispatchers.
    func stored(_ event: StoredEvent, for queues: Set<String>, isRequeued: Bool) {
        guard case .object(let members)? = try? DataItem(parsing: event.json(attempt: 1)),
            let content = Content(members)
        else { return record.expect(false, "event \(event.sequenceNumber) is malformed") }
        stored[event.sequenceNumber] = content
        guard !isRequeued else { return }
        let isNarrowed = members.get(key: "data", as: DataObject.self)?["only"] != nil
        let sent = Content(number: content.number)
        let fits = possible.contains { book in
            book.stored(sent) == content && isRoute(queues, of: content, by: book, isNarrowed: isNarrowed)
        }
        record.expect(fits, "\(event.sequenceNumber) is stored as \(content) for \(queues.sorted()) against the rules")
        if !content.trail.isEmpty { record.count(.changedBeforeStore) }
        if !queues.contains("a") { record.count(.ruledOut) }
    }

    private func isRoute(
        _ queues: Set<String>, of content: Content, by book: Rulebook, isNarrowed: Bool
    ) -> Bool {
        guard queues.allSatisfy({ book.wants(content, $0) && (!isNarrowed || $0 == "a") }) else { return false }
        // Dispatchers that may have been added or removed meanwhile may get the event or not.
        let certain = ["a", "b"].filter { !queue($0).isPatchy && (!isNarrowed || $0 == "a") }
        return certain.allSatisfy { queues.contains($0) || !book.wants(content, $0) }
    }

    /// Records that all gathered events went to the store.
    func groupRequested() {
        possible = current
    }

    // MARK: After the store

    /// Checks the events of a batch.
    func sent(_ batch: Batch, to queue: String) {
        for event in batch.events {
            let (number, json) = (event.sequenceNumber, Array(batch.body[event.range]))
            guard let stored = stored[number] else { continue }
            guard case .object(let members)? = try? DataItem(parsing: json), let content = Content(members) else {
                return record.expect(false, "\(queue) gets \(number), which is malformed")
            }
            let fits = current.contains { $0.sent(stored, to: queue) == content }
            record.expect(fits, "\(queue) gets \(number) as \(content), not by the rules from \(stored)")
            let isWhole = json.contains(RuleAccount.raw)
            record.expect(isWhole, "\(queue) gets \(number) with changed content")
            if content != stored { record.count(.changedBeforeSending) }
        }
    }

    /// Records that a transformation drops an event.
    /// - Parameter number: Nil if the event is not stored yet.
    func dropped(_ number: SequenceNumber?, for dispatcher: String?) {
        guard let number, let dispatcher else {
            droppedBefore += 1
            return record.count(.droppedBeforeStore)
        }
        record.note("\(dispatcher) does not get \(number)")
        record.count(.droppedBeforeSending)
        droppedBehind += 1
        let isMatch = stored[number].map { stored in current.contains { $0.sent(stored, to: dispatcher) == nil } }
        record.expect(isMatch ?? true, "\(number) is dropped for \(dispatcher) against the rules")
        queue(dispatcher).dropped(number)
    }

    /// Records an error of a transformation.
    func failed() {
        failures += 1
    }

    // MARK: End of the run

    /// Checks the counters. If a list is refused, its dropped events are not counted.
    func check(_ counters: Counters<EventCounter>) {
        let (dropped, errors) = (counters[.transformedAway], counters[.transformationErrors])
        record.expect(
            (droppedBehind...droppedBehind + droppedBefore).contains(dropped),
            "\(dropped) are counted as dropped, and \(droppedBefore) and \(droppedBehind) were")
        record.expect(errors == failures, "\(errors) transformations are counted as failed, and \(failures) have")
    }
}

extension Content {
    /// The content as a client sends it.
    fileprivate init(number: Int) {
        self.number = number
    }
}

extension [UInt8] {
    fileprivate func contains(_ part: [UInt8]) -> Bool {
        indices.contains { self[$0...].starts(with: part) }
    }
}
