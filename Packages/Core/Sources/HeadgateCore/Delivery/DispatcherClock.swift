/// The time, the chance and the end of the turn, as a dispatcher uses them.
struct DispatcherClock {
    let scheduler: any Scheduler
    /// The record of the dispatchers that are evaluated at the end of the turn.
    let turn: PendingEvaluations
    /// Returns a random number from 0 to 1.
    let chance: () -> Double

    init(_ turn: PendingEvaluations, chance: @escaping () -> Double, on scheduler: any Scheduler) {
        (self.scheduler, self.turn, self.chance) = (scheduler, turn, chance)
    }
}
