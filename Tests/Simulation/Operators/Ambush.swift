import HeadgateCore

/// The worst moment for a write to fail: newer words about the same things wait behind it, and the daemon stops in order
/// soon after, or dies.
final class Ambush: Actor {
    private unowned let world: World
    private var isCalm = false

    init(_ world: World) {
        self.world = world
    }

    private var store: WitnessedStore { world.store }

    var acts: [Act] {
        guard !isCalm else { return [] }
        if store.desk.isHeld, store.desk.hasWrite { return [Act(6, spring)] }
        return [Act(1) { [self] in store.desk.isHeld = true }]
    }

    /// All that the store's thread does in one turn fails, and then all is well.
    private func spring() {
        world.record.count(.writeAmbushed)
        world.record.note("what waits for the disk fails")
        let mood = store.disk.mood
        store.desk.isHeld = false
        store.disk.mood.fails = 1
        store.desk.takeTurn()
        store.disk.mood = mood
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
