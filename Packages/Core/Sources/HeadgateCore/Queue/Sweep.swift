/// How far the backlog has been looked through for events that have become too old, wherever they wait (Behaviour Q4).
/// Pure.
///
/// It goes over the sequence numbers again and again, a stretch at a time. What it found and settled needs not be kept in
/// a list, which would grow with the backlog: an event that was passed and is too old by the limit of that pass is one of
/// these (Behaviour Q6).
struct Sweep {
    struct Pass: Equatable {
        /// All up to and including this event has been looked at.
        var through: SequenceNumber
        var limit: AgeLimit

        func covers(_ event: StoredEvent) -> Bool {
            event.sequenceNumber <= through && limit.isExceeded(by: event)
        }
    }

    /// The last pass that came to its end.
    private var done = Pass(through: 0, limit: .none)
    private var running: Pass?
    /// Where the running pass ends.
    private var target: SequenceNumber = 0

    /// The most sequence numbers that are looked at in one step.
    static let step: SequenceNumber = 16_384

    /// Whether the event was passed when it was too old: whoever had not taken it in hand by then has settled it.
    func hasPassed(_ event: StoredEvent) -> Bool {
        running?.covers(event) ?? false || done.covers(event)
    }

    /// Whether the step under way finds the event too old for the first time.
    func isDue(_ event: StoredEvent) -> Bool {
        guard let running, event.sequenceNumber > running.through, event.sequenceNumber <= target else { return false }
        return running.limit.isExceeded(by: event) && !done.covers(event)
    }

    /// Begins a pass, or goes on with the one that has not come to its end.
    mutating func begin(_ limit: AgeLimit, behind start: SequenceNumber, through target: SequenceNumber) {
        guard running == nil else { return }
        // What was once found too old stays settled, whatever limits are set later.
        running = Pass(through: start, limit: limit.union(done.limit))
        self.target = target
    }

    /// What is to be looked at next; nil when no pass is running.
    var next: AgedStretch? {
        guard let running else { return nil }
        let isSeenBefore = running.through < done.through
        let end = min(running.through + Sweep.step, target, isSeenBefore ? done.through : .max)
        return AgedStretch(
            after: running.through, through: max(end, running.through), limit: running.limit,
            earlier: isSeenBefore ? done.limit : nil)
    }

    /// All up to an event has been looked at, and what was due is settled.
    mutating func advance(through sequenceNumber: SequenceNumber) {
        running?.through = min(sequenceNumber, target)
        guard let running, running.through >= target else { return }
        done = Pass(through: max(running.through, done.through), limit: running.limit)
        self.running = nil
    }
}
