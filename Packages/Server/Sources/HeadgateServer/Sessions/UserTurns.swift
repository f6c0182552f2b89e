import HeadgateCore

/// Shares the work of a turn between users, so that a user with a thousand connections delays the others no longer than
/// a user with one (Behaviour X3).
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
    /// True if several users are connected.
    var isShared = false

    init(scheduler: any Scheduler) {
        self.scheduler = scheduler
    }

    /// Returns the units that a user has left in this turn. Returns more than any session needs while no other user is
    /// connected.
    func left(of uid: UInt32) -> Int {
        guard isShared else { return .max }
        guard let spent = spent[uid] else { return UserTurns.whole }
        renewAtEndOfTurn()
        return UserTurns.whole - spent
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
        continueNextTurn()
    }

    private func renewAtEndOfTurn() {
        guard !renewsAtEndOfTurn else { return }
        renewsAtEndOfTurn = true
        scheduler.atEndOfTurn(.write) { [weak self] in self?.renew() }
    }

    /// Starts the shares of another turn. Overspent units count in it, because one line may contain a thousand calls.
    private func renew() {
        renewsAtEndOfTurn = false
        spent = spent.compactMapValues { $0 > UserTurns.whole ? $0 - UserTurns.whole : nil }
    }

    private func continueNextTurn() {
        guard !continuesNextTurn else { return }
        continuesNextTurn = true
        scheduler.nextTurn { [weak self] in self?.goOn() }
    }

    private func goOn() {
        continuesNextTurn = false
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
        if !waiting.isEmpty { continueNextTurn() }
    }
}
