import HeadgateCore

/// The worst moment for a write to fail: newer words about the same things wait behind it, and the daemon stops in order
/// soon after, or dies.
final class Ambush: Actor {
    private unowned let world: World
    /// Has a dispatcher come back that is gone, if there is one, and get an event.
    private let comeBack: () -> Void
    private var isCalm = false

    init(_ world: World, comeBack: @escaping () -> Void) {
        (self.world, self.comeBack) = (world, comeBack)
    }

    private var store: WitnessedStore { world.store }

    var acts: [Act] {
        guard !isCalm else { return [] }
        if store.desk.hasForgetting { return [Act(40, springOnForgetting)] }
        let isShort = world.ledger.orphans?.isKeepingForNow == true
        guard store.desk.isHeld else { return [Act(isShort ? 6 : 1) { [self] in store.desk.isHeld = true }] }
        return [Act(store.desk.hasWrite ? 6 : 0, spring), Act(isShort && store.desk.hasAppend ? 12 : 0, waitForKeeper)]
    }

    /// The daemon looks once a minute whether a queue is to be given up: here while something is being stored.
    private func waitForKeeper() {
        world.record.note("a minute passes")
        world.scheduler.advance(by: .seconds(61))
    }

    /// It cannot be written down that a dispatcher is given up. Another is there meanwhile, and gets something; then the daemon dies.
    private func springOnForgetting() {
        world.record.count(.forgettingAmbushed)
        fail()
        comeBack()
        for _ in 0..<3 {
            world.scheduler.endTurn()
            store.desk.takeTurn()
        }
        world.die(world.record.oneIn(2) ? .killed : .powerless)
    }

    /// What waits for the disk fails.
    private func fail() {
        world.record.note("what waits for the disk fails")
        let mood = store.disk.mood
        store.desk.isHeld = false
        store.disk.mood.fails = 1
        store.desk.takeTurn()
        store.disk.mood = mood
    }

    /// All that the store's thread does in one turn fails, and then all is well.
    private func spring() {
        world.record.count(.writeAmbushed)
        fail()
        // What could not be written is written after a second.
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
