import HeadgateCore

/// The actor that makes writes fail at the worst moment: while newer changes of the same state are waiting, and shortly
/// before the daemon stops or dies.
final class Ambush: Actor {
    private unowned let world: World
    /// The closure that adds a removed dispatcher again, if there is one, and tracks an event for it.
    private let comeBack: () -> Void
    private var isCalm = false

    init(_ world: World, comeBack: @escaping () -> Void) {
        (self.world, self.comeBack) = (world, comeBack)
    }

    private var store: WitnessedStore { world.store }

    var acts: [Act] {
        guard !isCalm else { return [] }
        if store.executor.hasForgetting { return [Act(40, springOnForgetting)] }
        let isShort = world.ledger.orphans?.isKeepingForNow == true
        guard store.executor.isHeld else { return [Act(isShort ? 6 : 1) { [self] in store.executor.isHeld = true }] }
        return [
            Act(store.executor.hasWrite ? 6 : 0, spring),
            Act(isShort && store.executor.hasAppend ? 12 : 0, waitForKeeper),
        ]
    }

    /// Lets a minute pass, after which the daemon checks for expired queues, while an event is being stored.
    private func waitForKeeper() {
        world.record.note("a minute passes")
        world.scheduler.advance(by: .seconds(61))
    }

    /// Makes the removal of a dispatcher fail while another with its number receives an event, then kills the daemon.
    private func springOnForgetting() {
        world.record.count(.forgettingAmbushed)
        fail()
        comeBack()
        for _ in 0..<3 {
            world.scheduler.endTurn()
            store.executor.takeTurn()
        }
        world.die(world.record.oneIn(2) ? .killed : .powerless)
    }

    /// Makes the waiting jobs fail.
    private func fail() {
        world.record.note("the waiting jobs of the store fail")
        let mood = store.disk.mood
        store.executor.isHeld = false
        store.disk.mood.fails = 1
        store.executor.takeTurn()
        store.disk.mood = mood
    }

    /// Makes the next turn of the store's thread fail completely.
    private func spring() {
        world.record.count(.writeAmbushed)
        fail()
        // Failed writes are retried after a second.
        world.scheduler.advance(by: .milliseconds(world.record.pick([0, 1_000, 1_500])))
        for _ in 0..<world.record.number(0...3) { world.endTurn() }
        switch world.record.number(0...3) {
        case 0...1: world.restart()
        case 2: world.die(.killed)
        default: break
        }
    }

    func calmDown() {
        isCalm = true
    }
}
