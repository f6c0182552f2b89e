import HeadgateData

/// The clocks of the event queue: the scale of ages, the trust in the wall clock, and the time of receipt of the
/// present turn's events.
struct QueueClock {
    private(set) var ages: AgeScale
    /// The rule that decides whether the wall clock counts as set (Behaviour P7).
    private var trust: WallTrust
    /// The clocks at the first event of this turn; nil before it.
    private(set) var arrival: Receipt?

    /// The present time.
    struct Present {
        let now: Instant
        /// The time on the age scale.
        let stamp: Int64
    }

    /// The time of receipt on all clocks.
    struct Receipt {
        let now: Instant
        /// The time on the age scale.
        let stamp: Int64
        let wall: Timestamp
    }

    /// - Parameters:
    ///   - pair: the clocks as an earlier daemon saved them; nil if none did.
    ///   - newest: the time of receipt of the newest stored event, on the age scale; nil if it is unknown.
    init(_ scheduler: any Scheduler, kept pair: ClockPair?, newest: Int64?, builtAt: Timestamp) {
        ages = AgeScale(scheduler.clocks, kept: pair, newest: newest, builtAt: builtAt)
        trust = WallTrust(kept: pair, boot: scheduler.boot, builtAt: builtAt)
    }

    /// Returns the present time on the monotonic clock and on the age scale.
    mutating func present(_ scheduler: any Scheduler) -> Present {
        let now = scheduler.now
        ages.advance(now: now, sinceBoot: scheduler.sinceBoot)
        return Present(now: now, stamp: ages.stamp(now))
    }

    /// Reads the clocks for the first event of a turn.
    mutating func receive(_ scheduler: any Scheduler) -> Receipt {
        let present = present(scheduler)
        let receipt = Receipt(now: present.now, stamp: present.stamp, wall: scheduler.wall)
        arrival = receipt
        return receipt
    }

    /// Forgets the time of receipt: events of the next turn get their own.
    mutating func turnEnded() { arrival = nil }

    /// Returns the present on the age scale together with all clocks, for saving.
    mutating func pair(_ clocks: ClockReading) -> ClockPair {
        ages.advance(now: clocks.now, sinceBoot: clocks.sinceBoot)
        let stamp = ages.stamp(clocks.now)
        trust.note(clocks.wall, stamp: stamp)
        return ClockPair(stamp: stamp, clocks, reference: trust.reference, doubt: trust.doubt)
    }

    func fault(of wall: Timestamp) -> WallTrust.Fault? { trust.fault(of: wall) }
}
