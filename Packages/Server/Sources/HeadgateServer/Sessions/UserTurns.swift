import HeadgateCore

/// The shares of users in the work of a turn of the event loop. A user with a thousand connections delays the others no
/// longer than a user with one (Behaviour X3). A user above `limits.rate` has no share until its rate is below the
/// limit again (Behaviour Q4).
///
/// While only one user is connected, the user has the whole turn.
final class UserTurns {
    /// The units that all sessions of one user may spend in a turn, about two milliseconds of work (see ``TurnShare``).
    static let whole = 2 * TurnShare.whole

    private let scheduler: any Scheduler
    /// The units that each user has spent in this turn, with those that it has overspent before.
    private var spent: [UInt32: Int] = [:]
    /// The sessions that wait for a turn, the longest waiting first.
    private var waiting: [UInt32: [() -> Void]] = [:]
    private var renewsAtEndOfTurn = false
    private var continuesNextTurn = false
    private var rates = UserRates()
    /// The next turn of users who are above the rate, or nil if no session waits for it.
    private var next: (any Disposable)?
    /// True if several users are connected.
    var isShared = false

    init(scheduler: any Scheduler) {
        self.scheduler = scheduler
    }

    /// Returns the units that a user has left in this turn. Returns more than any session needs while no other user is
    /// connected.
    func left(of uid: UInt32) -> Int {
        let allowed = rates.rate == nil ? Int.max : rates.left(of: uid, at: scheduler.now)
        guard isShared else { return allowed }
        guard let spent = spent[uid] else { return min(allowed, UserTurns.whole) }
        renewAtEndOfTurn()
        return min(allowed, UserTurns.whole - spent)
    }

    /// Returns true if a user is above `limits.rate`.
    func isAboveRate(_ uid: UInt32) -> Bool {
        rates.rate != nil && rates.left(of: uid, at: scheduler.now) <= 0
    }

    /// Counts events that a session of a user has sent.
    func took(events: Int, of uid: UInt32) {
        if rates.rate != nil { rates.spend(events, of: uid, at: scheduler.now) }
    }

    /// Sets the most events per second of each user, or nil for no limit.
    func setRate(_ rate: EventRate?) {
        guard rate != rates.rate else { return }
        rates.rate = rate
        if !waiting.isEmpty { continueNextTurn() }
    }

    /// Counts units that a session of a user has spent.
    func spend(_ units: Int, of uid: UInt32) {
        guard isShared, units > 0 else { return }
        spent[uid, default: 0] += units
        renewAtEndOfTurn()
    }

    /// Calls `work` in a later turn in which the user has units left. The sessions of a user take turns.
    func wait(_ uid: UInt32, _ work: @escaping () -> Void) {
        waiting[uid, default: []].append(work)
        if !continuesNextTurn { continueWhenAllowed() }
    }

    private func renewAtEndOfTurn() {
        guard !renewsAtEndOfTurn else { return }
        renewsAtEndOfTurn = true
        scheduler.atEndOfTurn(.write) { [weak self] in self?.renew() }
    }

    /// Starts the shares of another turn. Units that were overspent before are deducted, because one line may contain a
    /// thousand calls.
    private func renew() {
        renewsAtEndOfTurn = false
        spent = spent.compactMapValues { $0 > UserTurns.whole ? $0 - UserTurns.whole : nil }
    }

    private func continueNextTurn() {
        guard !continuesNextTurn else { return }
        continuesNextTurn = true
        scheduler.nextTurn { [weak self] in self?.runWaiting() }
    }

    /// Arranges the next turn of the sessions that wait. While all of them are above the rate, nothing happens.
    private func continueWhenAllowed() {
        guard rates.rate != nil else { return continueNextTurn() }
        let now = scheduler.now
        let earliest = waiting.keys.map { rates.left(of: $0, at: now) > 0 ? now : rates.next(of: $0, at: now) }.min()
        guard let earliest, earliest > now else { return continueNextTurn() }
        next?.dispose()
        next = scheduler.schedule(at: earliest) { [weak self] in self?.runWaiting() }
    }

    private func runWaiting() {
        continuesNextTurn = false
        next?.dispose()
        next = nil
        for uid in waiting.keys.sorted() {
            guard let queue = waiting.removeValue(forKey: uid) else { continue }
            var served = 0
            while served < queue.count, left(of: uid) > 0 {
                queue[served]()
                served += 1
            }
            // Sessions that were served and wait again come after those that were not.
            let rest = Array(queue[served...]) + (waiting[uid] ?? [])
            waiting[uid] = rest.isEmpty ? nil : rest
        }
        if !waiting.isEmpty, !continuesNextTurn { continueWhenAllowed() }
    }
}
