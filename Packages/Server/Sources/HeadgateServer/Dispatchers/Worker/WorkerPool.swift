import HeadgateCore

/// The distribution of one dispatcher's batches among its subscribers, by their credit (Behaviour K3).
///
/// A pure value: it takes reports of what happened, with the time where it matters, and returns orders. The pool lends
/// a batch to a subscriber. A subscriber that does not answer in time, or that disconnects, loses the batch. The
/// dispatcher decides what happens to the events of a lost batch.
struct WorkerPool {
    /// A worker, by the number of its session.
    typealias Subscriber = Int
    /// The number of a batch.
    typealias BatchNumber = Int
    /// The number of a lease: a batch that a subscriber holds for a time.
    typealias LeaseID = Int

    /// An order to the ``WorkerGroup``.
    enum Order: Equatable {
        /// Send a batch to a subscriber.
        case give(BatchNumber, to: Subscriber, as: LeaseID)
        /// End a batch with a result.
        case end(BatchNumber, SendResult)
        /// End a batch that its subscriber has lost.
        case lose(BatchNumber, by: Subscriber, cause: String)
        /// Notify a leaving subscriber that all its batches are settled.
        case release(Subscriber)
    }

    private struct Member {
        var credit: Int
        var mostEvents: Int
        var isLeaving = false
        /// True if the subscriber's unread output is too large, so that it gets no batch until it has read.
        var isOverfull = false
        /// The leases that the subscriber works on.
        var leases: Set<LeaseID> = []
        /// The leases that the subscriber did not answer in time. It may still work on them. They count against its
        /// credit, so that a worker that hangs does not get one batch after another.
        var overdue: Set<LeaseID> = []
        /// The subscriber's latest lease, by which the pool takes turns.
        var lastLeaseID: LeaseID = 0

        /// The number of leases that the subscriber could answer now: its credit without its overdue leases, or 0 if it
        /// is leaving.
        var able: Int { isLeaving ? 0 : max(0, credit - overdue.count) }
        /// The number of further leases that the subscriber may have now.
        var free: Int { isOverfull ? 0 : max(0, able - leases.count) }
    }

    private struct Lease {
        let batch: BatchNumber
        let subscriber: Subscriber
        let end: Instant
        /// The length of the lease.
        let duration: Duration
    }

    /// The time that a subscriber may keep a batch. A change applies to later leases.
    var lease: Duration
    private var members: [Subscriber: Member] = [:]
    private var leases: [LeaseID: Lease] = [:]
    private var lastLeaseID: LeaseID = 0
    private var orders: [Order] = []

    init(lease: Duration) {
        self.lease = lease
    }

    // MARK: Capacity

    /// The number of batches that can be lent, including those that are lent, and the most events of the next batch.
    var capacity: SenderCapacity {
        let free = members.values.reduce(0) { $0 + $1.free }
        return SenderCapacity(batches: leases.count + free, events: next()?.mostEvents ?? .max)
    }

    /// True if some subscriber can take a batch, now or after its present batches.
    var isAttended: Bool { members.values.contains { $0.able > 0 } }

    /// True if there is no subscriber.
    var isEmpty: Bool { members.isEmpty }

    /// Returns true if this worker subscribes.
    func contains(_ subscriber: Subscriber) -> Bool { members[subscriber] != nil }

    /// True if there is a subscriber that is not about to leave.
    var hasSubscribers: Bool { members.values.contains { !$0.isLeaving } }

    /// The time to call ``timePassed(_:)``, or nil for never.
    var nextDeadline: Instant? { leases.values.map(\.end).min() }

    /// Removes and returns the next order, or nil if there is none.
    mutating func nextOrder() -> Order? {
        orders.isEmpty ? nil : orders.removeFirst()
    }

    // MARK: Facts

    /// Adds a subscriber, or changes its credit and the most events of its batches.
    /// - Parameters:
    ///   - credit: the most batches that it takes at once.
    ///   - mostEvents: the most events of a batch for it.
    mutating func subscribed(_ subscriber: Subscriber, credit: Int, mostEvents: Int) {
        var member = members[subscriber] ?? Member(credit: credit, mostEvents: mostEvents)
        member.credit = credit
        member.mostEvents = mostEvents
        // The subscriber stays after all, so the callers that wait for its leaving are notified.
        if member.isLeaving { orders.append(.release(subscriber)) }
        member.isLeaving = false
        members[subscriber] = member
    }

    /// Notes that a subscriber's unread output is too large.
    mutating func overfull(_ subscriber: Subscriber) {
        members[subscriber]?.isOverfull = true
    }

    /// Notes that a subscriber has read all its output.
    /// - Returns: true if the subscriber can take batches again.
    mutating func drained(_ subscriber: Subscriber) -> Bool {
        guard members[subscriber]?.isOverfull == true else { return false }
        members[subscriber]?.isOverfull = false
        return true
    }

    /// Notes that a subscriber wants no more batches. It leaves once its present batches are settled.
    mutating func unsubscribed(_ subscriber: Subscriber) {
        members[subscriber]?.isLeaving = true
        releaseIfDone(subscriber)
    }

    /// Removes a subscriber that has disconnected. Its batches are lost.
    mutating func gone(_ subscriber: Subscriber) {
        guard let member = members.removeValue(forKey: subscriber) else { return }
        for leaseID in member.leases.sorted() { lose(leaseID, cause: WorkerPool.wentAway) }
        orders.append(.release(subscriber))
    }

    /// Lends a new batch to a subscriber.
    mutating func took(_ batch: BatchNumber, events: Int, now: Instant) {
        guard let subscriber = next(taking: events)?.subscriber else {
            return orders.append(.end(batch, .returned(cause: "no worker is free")))
        }
        give(batch, to: subscriber, now)
    }

    /// Handles a subscriber's answer.
    /// - Returns: the batch, or nil if the answer came too late.
    @discardableResult
    mutating func answered(_ leaseID: LeaseID) -> BatchNumber? {
        guard let lease = leases.removeValue(forKey: leaseID) else {
            for subscriber in members.keys { members[subscriber]?.overdue.remove(leaseID) }
            return nil
        }
        members[lease.subscriber]?.leases.remove(leaseID)
        releaseIfDone(lease.subscriber)
        return lease.batch
    }

    /// Ends the leases that are over. It may be called at any time.
    mutating func timePassed(_ now: Instant) {
        for (leaseID, lease) in leases.sorted(by: { $0.key < $1.key }) where lease.end <= now {
            lose(leaseID, cause: "no answer from a worker within \(lease.duration.wholeMilliseconds) ms")
            takeBack(leaseID, from: lease.subscriber)
        }
    }

    /// Interrupts all leases.
    mutating func interrupted() {
        for (leaseID, lease) in leases.sorted(by: { $0.key < $1.key }) {
            takeBack(leaseID, from: lease.subscriber)
            leases[leaseID] = nil
            orders.append(.end(lease.batch, .interrupted))
        }
    }

    // MARK: Lending

    /// Returns the subscriber for the next batch: the one whose last lease is the oldest. A subscriber with an overdue
    /// lease gets nothing while another is free, so that a batch moves away from a worker that hangs.
    private func next(taking events: Int = 0) -> (subscriber: Subscriber, mostEvents: Int)? {
        members.filter { $0.value.free > 0 && $0.value.mostEvents >= events }
            .min {
                ($0.value.overdue.count, $0.value.lastLeaseID, $0.key) < (
                    $1.value.overdue.count, $1.value.lastLeaseID, $1.key
                )
            }
            .map { (subscriber: $0.key, mostEvents: $0.value.mostEvents) }
    }

    private mutating func give(_ batch: BatchNumber, to subscriber: Subscriber, _ now: Instant) {
        lastLeaseID += 1
        leases[lastLeaseID] = Lease(batch: batch, subscriber: subscriber, end: now + lease, duration: lease)
        members[subscriber]?.leases.insert(lastLeaseID)
        members[subscriber]?.lastLeaseID = lastLeaseID
        orders.append(.give(batch, to: subscriber, as: lastLeaseID))
    }

    /// Ends a lease that was not answered.
    private mutating func lose(_ leaseID: LeaseID, cause: String) {
        guard let lease = leases.removeValue(forKey: leaseID) else { return }
        orders.append(.lose(lease.batch, by: lease.subscriber, cause: cause))
    }

    static let wentAway = "the worker disconnected"

    private mutating func takeBack(_ leaseID: LeaseID, from subscriber: Subscriber) {
        members[subscriber]?.leases.remove(leaseID)
        members[subscriber]?.overdue.insert(leaseID)
        releaseIfDone(subscriber)
    }

    private mutating func releaseIfDone(_ subscriber: Subscriber) {
        guard let member = members[subscriber], member.isLeaving, member.leases.isEmpty else { return }
        members[subscriber] = nil
        orders.append(.release(subscriber))
    }
}
