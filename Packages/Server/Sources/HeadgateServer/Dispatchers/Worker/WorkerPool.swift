import HeadgateCore

/// Shares the batches of one dispatcher among its subscribers, by their credit (Behaviour K3).
///
/// Pure: facts go in, with the time where it matters; orders come out. A batch is lent: a subscriber that does not answer in
/// time, or goes away, loses it. What becomes of the events of a lost batch is decided by the dispatcher.
struct WorkerPool {
    /// A process that works for the dispatcher, by the number of its session.
    typealias Subscriber = Int
    /// Names a batch.
    typealias BatchNumber = Int
    /// Names the lending of a batch.
    typealias Loan = Int

    /// What to do.
    enum Order: Equatable {
        /// Give a batch to a subscriber.
        case give(BatchNumber, to: Subscriber, as: Loan)
        /// Nobody works on a batch any more.
        case end(BatchNumber, SendResult)
        /// A batch was lost by the subscriber that had it.
        case lose(BatchNumber, by: Subscriber, cause: String)
        /// All that a subscriber had in hand when it wanted to leave is settled.
        case release(Subscriber)
    }

    private struct Member {
        var credit: Int
        var mostEvents: Int
        var isLeaving = false
        /// Whether it leaves so much unread that it gets nothing more until it has read.
        var isOverfull = false
        /// What it works on.
        var loans: Set<Loan> = []
        /// What it did not answer in time, and may still work on. It takes up credit, so that a worker that hangs does not
        /// get one batch after the other.
        var overdue: Set<Loan> = []
        /// When it was last given something, counted in loans.
        var lastLoan: Loan = 0

        /// What it can have at once, as it is now.
        var able: Int { isLeaving ? 0 : max(0, credit - overdue.count) }
        /// What it can have in addition.
        var free: Int { isOverfull ? 0 : max(0, able - loans.count) }
    }

    private struct Lending {
        let batch: BatchNumber
        let subscriber: Subscriber
        let end: Instant
        /// How long it may be kept.
        let lease: Duration
    }

    /// How long a subscriber may keep a batch; for batches that are lent from now on.
    var lease: Duration
    private var members: [Subscriber: Member] = [:]
    private var lendings: [Loan: Lending] = [:]
    private var lastLoan: Loan = 0
    private var orders: [Order] = []

    init(lease: Duration) {
        self.lease = lease
    }

    // MARK: What it can take

    /// What can be lent: in all, with what is lent already, and in the next batch.
    var capacity: SenderCapacity {
        let free = members.values.reduce(0) { $0 + $1.free }
        return SenderCapacity(batches: lendings.count + free, events: next()?.mostEvents ?? .max)
    }

    /// Whether somebody could take a batch who need only be done with another first.
    var isAttended: Bool { members.values.contains { $0.able > 0 } }

    /// Whether anybody subscribes.
    var isEmpty: Bool { members.isEmpty }

    /// Whether somebody subscribes.
    func contains(_ subscriber: Subscriber) -> Bool { members[subscriber] != nil }

    /// Whether somebody subscribes and does not mean to leave.
    var hasSubscribers: Bool { members.values.contains { !$0.isLeaving } }

    /// When to call ``timePassed(_:)``; nil for never.
    var nextDeadline: Instant? { lendings.values.map(\.end).min() }

    /// The next order; nil when there is none.
    mutating func nextOrder() -> Order? {
        orders.isEmpty ? nil : orders.removeFirst()
    }

    // MARK: Facts

    /// Somebody works for the dispatcher, or from now on with other numbers.
    /// - Parameters:
    ///   - credit: how many batches it takes at once.
    ///   - mostEvents: how many events a batch for it has at most.
    mutating func subscribed(_ subscriber: Subscriber, credit: Int, mostEvents: Int) {
        var member = members[subscriber] ?? Member(credit: credit, mostEvents: mostEvents)
        member.credit = credit
        member.mostEvents = mostEvents
        // Whoever waited for its leaving need not wait any more.
        if member.isLeaving { orders.append(.release(subscriber)) }
        member.isLeaving = false
        members[subscriber] = member
    }

    /// Somebody leaves too much unread of what it was given.
    mutating func overfull(_ subscriber: Subscriber) {
        members[subscriber]?.isOverfull = true
    }

    /// Somebody has read all that it was given.
    /// - Returns: whether it can take something again that could not before.
    mutating func drained(_ subscriber: Subscriber) -> Bool {
        guard members[subscriber]?.isOverfull == true else { return false }
        members[subscriber]?.isOverfull = false
        return true
    }

    /// Somebody wants nothing more. It leaves once what it has in hand is settled.
    mutating func unsubscribed(_ subscriber: Subscriber) {
        members[subscriber]?.isLeaving = true
        releaseIfDone(subscriber)
    }

    /// Somebody is gone, and what it had in hand with it.
    mutating func gone(_ subscriber: Subscriber) {
        guard let member = members.removeValue(forKey: subscriber) else { return }
        for loan in member.loans.sorted() { lose(loan, cause: WorkerPool.wentAway) }
        orders.append(.release(subscriber))
    }

    /// There is a batch to be worked on.
    mutating func took(_ batch: BatchNumber, events: Int, now: Instant) {
        guard let subscriber = next(taking: events)?.subscriber else {
            return orders.append(.end(batch, .returned(cause: "no worker is free")))
        }
        lend(batch, to: subscriber, now)
    }

    /// A subscriber answered.
    /// - Returns: the batch that it answers for; nil when it came too late to count.
    @discardableResult
    mutating func answered(_ loan: Loan) -> BatchNumber? {
        guard let lending = lendings.removeValue(forKey: loan) else {
            for subscriber in members.keys { members[subscriber]?.overdue.remove(loan) }
            return nil
        }
        members[lending.subscriber]?.loans.remove(loan)
        releaseIfDone(lending.subscriber)
        return lending.batch
    }

    /// The time that ``nextDeadline`` told has come, or some time else.
    mutating func timePassed(_ now: Instant) {
        for (loan, lending) in lendings.sorted(by: { $0.key < $1.key }) where lending.end <= now {
            lose(loan, cause: "no answer from a worker within \(lending.lease.wholeMilliseconds) ms")
            takeBack(loan, from: lending.subscriber)
        }
    }

    /// All that is lent is given up.
    mutating func interrupted() {
        for (loan, lending) in lendings.sorted(by: { $0.key < $1.key }) {
            takeBack(loan, from: lending.subscriber)
            lendings[loan] = nil
            orders.append(.end(lending.batch, .interrupted))
        }
    }

    // MARK: Lending

    /// The subscriber that gets the next batch: of those that can take one, the one that has waited longest since its last. One
    /// that owes an answer gets nothing while another is free: so a batch goes to another worker than the one that hangs.
    private func next(taking events: Int = 0) -> (subscriber: Subscriber, mostEvents: Int)? {
        members.filter { $0.value.free > 0 && $0.value.mostEvents >= events }
            .min {
                ($0.value.overdue.count, $0.value.lastLoan, $0.key) < (
                    $1.value.overdue.count, $1.value.lastLoan, $1.key
                )
            }
            .map { (subscriber: $0.key, mostEvents: $0.value.mostEvents) }
    }

    private mutating func lend(_ batch: BatchNumber, to subscriber: Subscriber, _ now: Instant) {
        lastLoan += 1
        lendings[lastLoan] = Lending(batch: batch, subscriber: subscriber, end: now + lease, lease: lease)
        members[subscriber]?.loans.insert(lastLoan)
        members[subscriber]?.lastLoan = lastLoan
        orders.append(.give(batch, to: subscriber, as: lastLoan))
    }

    /// Ends the lending of a batch that was not answered for.
    private mutating func lose(_ loan: Loan, cause: String) {
        guard let lending = lendings.removeValue(forKey: loan) else { return }
        orders.append(.lose(lending.batch, by: lending.subscriber, cause: cause))
    }

    static let wentAway = "the worker went away"

    private mutating func takeBack(_ loan: Loan, from subscriber: Subscriber) {
        members[subscriber]?.loans.remove(loan)
        members[subscriber]?.overdue.insert(loan)
        releaseIfDone(subscriber)
    }

    private mutating func releaseIfDone(_ subscriber: Subscriber) {
        guard let member = members[subscriber], member.isLeaving, member.loans.isEmpty else { return }
        members[subscriber] = nil
        orders.append(.release(subscriber))
    }
}
