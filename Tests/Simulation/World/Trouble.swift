import HeadgateCore

@testable import HeadgateServer

/// Failures of the daemon and its disk.
final class Trouble: Actor {
    private unowned let world: World
    private var isCalm = false

    init(_ world: World) {
        self.world = world
    }

    private var record: Record { world.record }
    private var disk: SimulatedDisk { world.store.disk }

    var acts: [Act] {
        guard !isCalm else { return [] }
        let acts = [Act(3, troubleDisk), Act(1, endLife), Act(6) { [world] in world.store.executor.takeTurn() }]
        let executor = world.store.executor
        let corrupts = corrupts(world.ledger.corrupt)
        let copies = [Act(executor.isCopying && !executor.isHeld ? 40 : 0, failWhileCopying)]
        let haste = executor.hasFreedSegments || executor.hasPutAside ? 60 : executor.hasBegunSegment ? 4 : 0
        return acts + corrupts + copies + [Act(haste, endAtTurnover)]
    }

    /// Actions while data may be damaged: damage is found when it is read, or after a start with the damaged log. They
    /// include the worst moment for the newest events.
    private func corrupts(_ corrupt: Corruption?) -> [Act] {
        guard let corrupt, corrupt.kind == .frames else { return [] }
        return [
            Act(2) { [world] in world.corrupt() }, Act(2) { [world] in world.restart() }, Act(2, refuse),
            Act(2, restartBehindGroups),
            Act(corrupt.gap.isSettled && world.store.executor.isIdle ? 60 : 0, endBehindGap),
        ]
    }

    /// Makes many events in a row fail, and then one succeed.
    private func refuse() {
        guard let client = world.idle() else { return }
        world.endTurn()
        let mood = disk.mood
        disk.mood.fails = 1
        for _ in 0..<5 {
            client.trackMany(5)
            client.connection.deliver(most: 5_000)
            for _ in 0..<2 { world.endTurn() }
        }
        disk.mood = mood
        client.track()
        client.connection.deliver(most: 5_000)
    }

    /// Restarts the daemon with several groups in the current segment.
    private func restartBehindGroups() {
        guard let client = world.idle() else { return }
        for _ in 0..<4 {
            client.track()
            client.connection.deliver(most: 5_000)
            for _ in 0..<2 {
                world.scheduler.endTurn()
                world.store.executor.takeTurn()
            }
        }
        world.restart()
    }

    private func endBehindGap() {
        record.count(.gapAmbushed)
        world.die(.killed)
    }

    private func troubleDisk() {
        switch record.number(0...9) {
        case 0:
            record.count(.storeHeld)
            record.note("the disk hangs")
            world.store.executor.isHeld = true
        case 1:
            record.note("the disk is full")
            disk.mood.isFull = true
        case 2:
            record.note("the disk fails now and then")
            disk.mood.fails = record.pick([3, 20])
        case 3:
            record.note("the disk fails to sync now and then")
            disk.mood.failsToSync = record.pick([1, 3])
        case 4: disk.callsToLive = record.number(0...30)
        default: heal()
        }
    }

    /// Makes a sync fail while segments are being copied, so that the log must recover in between.
    private func failWhileCopying() {
        guard let client = world.idle() else { return }
        record.count(.copyAmbushed)
        let mood = disk.mood
        disk.mood.failsToSync = 1
        client.track()
        client.connection.deliver(most: 5_000)
        for _ in 0..<2 {
            world.scheduler.endTurn()
            world.store.executor.takeTurn()
        }
        disk.mood = mood
    }

    /// Ends the daemon while segments were just begun or dropped, or damaged contents quarantined.
    private func endAtTurnover() {
        record.count(.diedAtTurnover)
        world.die(record.oneIn(world.store.executor.hasPutAside ? 2 : 3) ? .killed : .powerless)
    }

    private func heal() {
        record.note("the disk no longer fails")
        (disk.mood, disk.callsToFault) = (SimulatedDisk.Mood(), nil)
        world.store.executor.isHeld = false
    }

    private func endLife() {
        switch record.number(0...4) {
        case 0: world.restart()
        case 1...2: world.die(.killed)
        default: world.die(.powerless)
        }
    }

    func calmDown() {
        isCalm = true
        disk.callsToLive = nil
        heal()
    }

    func proceed() -> Bool {
        heal()
        return false
    }
}
