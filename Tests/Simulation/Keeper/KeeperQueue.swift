import HeadgateCore

/// The model of one dispatcher's queue, by the events' indexes in the book. A rewind begins a new epoch, in which settled
/// events are sent again (Behaviour R2). Within an epoch an event is sent again only if its settlement may be lost.
final class KeeperQueue {
    let id: String
    /// Stored events that must be sent.
    private(set) var due: Set<Int> = []
    /// Events settled in this epoch and life. `endedBefore` has those certainly written in an earlier life.
    private var ended: Set<Int> = []
    private var endedBefore: Set<Int> = []
    /// Events that may be sent again but need not be: the daemon ended before their settlement was certain.
    private(set) var open: Set<Int> = []
    /// Events that a rewind made pending again, to be sent as replayed. `untried` has those not sent since.
    private var again: Set<Int> = []
    private var untried: Set<Int> = []
    /// Events that were settled, or sent as replayed, between the request of a rewind and its answer. The rewind may
    /// have taken effect before or after that.
    private var early: Set<Int> = []
    /// The first event that a rewind without an answer may make pending again.
    private(set) var requested: SequenceNumber?
    /// Events from this index on were tracked after all rewinds.
    private var fresh = 0
    /// Called with each event that the destination settles.
    var onSettled: (Int) -> Void = { _ in }
    private let record: Record
    private unowned let book: KeeperBook

    init(_ id: String, _ record: Record, _ book: KeeperBook) {
        (self.id, self.record, self.book) = (id, record, book)
    }

    /// Returns true if an event is settled in this epoch.
    func isSettled(_ index: Int) -> Bool { ended.contains(index) || endedBefore.contains(index) }

    /// Records that an event is acknowledged. It may have been delivered before.
    func stored(_ index: Int) {
        if !isSettled(index), !open.contains(index) { due.insert(index) }
    }

    // MARK: Delivery

    func sent(_ batch: [KeeperDestination.Event]) {
        var before: Set<Int> = []
        for event in batch {
            check(event, before)
            before.insert(event.index)
        }
    }

    /// Checks an event that the destination gets.
    /// - Parameter before: Events of the same batch.
    private func check(_ event: KeeperDestination.Event, _ before: Set<Int>) {
        let (index, known) = (event.index, book[event.index])
        let mayBeAgain = requested.map { event.number >= $0 } ?? false
        record.insist(known.queues.contains(id), "\(id) gets \(event.number), which is not routed to it")
        record.insist(known.erasure != .certain, "\(id) gets \(event.number), which is erased")
        record.insist(
            !isSettled(index) || mayBeAgain, "\(id) gets \(event.number) again without a rewind")
        if let key = known.key {
            let early = due.first { other in
                let other = (index: other, event: book[other])
                return other.event.key == key && (other.event.number ?? .max) < event.number
                    && !before.contains(other.index)
            }
            record.insist(
                early == nil, "\(id) gets \(event.number) of \(key) before \(early.flatMap { book[$0].number } ?? 0)")
        }
        if again.contains(index) {
            record.insist(event.isReplayed, "\(id) gets \(event.number) by a rewind, not marked as replayed")
            record.count(.replayed)
        }
        if requested != nil, event.isReplayed { early.insert(index) }
        if untried.remove(index) != nil {
            record.insist(event.attempt == 1, "\(id) gets \(event.number) by a rewind as attempt \(event.attempt)")
        }
        if index >= fresh, requested == nil {
            record.insist(!event.isReplayed, "\(id) gets \(event.number) as replayed without a rewind")
        }
    }

    func settled(_ index: Int) {
        due.remove(index)
        open.remove(index)
        again.remove(index)
        ended.insert(index)
        if requested != nil { early.insert(index) }
        onSettled(index)
    }

    // MARK: Rewinds

    /// Records that a rewind was requested.
    /// - Parameter first: The lowest event from which the rewind may begin.
    func asks(from first: SequenceNumber) {
        requested = first
        fresh = .max
    }

    /// Records that a rewind succeeded: every kept event from `first` on is pending again.
    func rewound(to first: SequenceNumber, events: Int, isComplete: Bool) {
        record.count(.rewound)
        let matching = { [book] (index: Int) in book[index].number.map { $0 >= first } ?? false }
        let settled = ended.union(endedBefore).filter(matching)
        let isKept = { [book] (index: Int) in isComplete || book.isKept(index) }
        let certain = settled.filter { isKept($0) && book[$0].erasure == .none && !early.contains($0) }
        // Events that were refused because the disk failed may be stored.
        let perhaps = settled.union(open.filter(matching)).count + book.unacknowledged(for: id)
        record.insist(
            (certain.count...max(certain.count, perhaps)).contains(events),
            "a rewind of \(id) to \(first) reports \(events) events, not \(certain.count) to \(perhaps)")
        (due, open) = (due.union(certain), open.union(settled.subtracting(certain)))
        if isComplete {
            let forgotten = open.filter {
                matching($0) && book[$0].isAcknowledged && book[$0].erasure == .none && !early.contains($0)
            }
            (due, open) = (due.union(forgotten), open.subtracting(forgotten))
        }
        again.formUnion(certain)
        untried.formUnion(certain)
        ended.subtract(settled)
        endedBefore.subtract(settled)
        (requested, early, fresh) = (nil, [], book.count)
    }

    /// Records that a rewind was refused. After a crash, a rewind that the store failed to write may still take effect.
    func notRewound(isCertain: Bool) {
        if !isCertain { unsure() }
        (requested, early, fresh) = (nil, [], .max)
    }

    /// Records that the settled events in the range of an unanswered rewind may be sent again.
    private func unsure() {
        guard let requested else { return }
        let matching = ended.union(endedBefore).filter { book[$0].number.map { $0 >= requested } ?? true }
        ended.subtract(matching)
        endedBefore.subtract(matching)
        open.formUnion(matching)
    }

    // MARK: Erasures

    /// Records that an event need not be sent any more.
    func mayBeGone(_ index: Int) {
        if due.remove(index) != nil { open.insert(index) }
        again.remove(index)
        untried.remove(index)
    }

    // MARK: Lives

    func lifeEnded(isOrderly: Bool) {
        unsure()
        if requested != nil { fresh = .max }
        (requested, early) = (nil, [])
        if isOrderly { endedBefore.formUnion(ended) } else { open.formUnion(ended) }
        ended = []
    }

    /// A description of the events that must still be sent.
    var missing: String { "\(id): \(due.map { book[$0].number ?? 0 }.sorted())" }
}
