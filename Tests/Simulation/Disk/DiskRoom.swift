import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer

/// A disk so small that events fill it.
struct DiskRoom {
    /// The normal size of a segment, and the smallest size that is created when there is no room for that, in bytes.
    let segmentSize: Int
    let leastSegmentSize: Int
    /// The total size of all files, in bytes.
    let bytes: Int

    /// The settings of the store. The event limit is so high that the disk becomes full before the store does.
    static let settings: DataObject = ["store": ["max_events": 5_000]]

    init(_ record: Record) {
        segmentSize = 32 << 10
        leastSegmentSize = record.pick([8, 32]) << 10
        // Often there is no room besides whole segments, not even for a small file.
        bytes = record.number(3...6) * segmentSize + (record.oneIn(2) ? 100 : record.number(0...segmentSize - 1))
    }
}

/// The actor that fills a small disk. After everything is delivered and written, events must be accepted again,
/// whatever was on the disk (Behaviour Q8).
final class Fillers: Actor {
    private unowned let world: World
    private var service: Service?
    private var isCalm = false
    /// True if the disk was full in this life.
    private var isFull = false

    init(_ world: World) {
        self.world = world
    }

    func lifeBegan(_ service: Service) {
        self.service = service
        isFull = false
    }

    func lifeEnded(_ end: LifeEnd) {
        service = nil
    }

    private var record: Record { world.record }

    var acts: [Act] {
        guard !isCalm else { return [] }
        let hasDeadLetters = isFull && service?.gate.settlements.hasDeadLetters == true
        return [
            Act(6, fill), Act(isFull ? 12 : 0, endFull), Act(isFull ? 8 : 0, refuse),
            Act(hasDeadLetters ? 30 : 0, endBeforeDeadLetters),
        ]
    }

    /// Sends events until the disk is full, while nothing is delivered. At times some syncs fail.
    private func fill() {
        let disk = world.store.disk
        let mood = disk.mood
        if record.oneIn(3) { disk.mood.failsToSync = record.pick([2, 5, 20]) }
        defer { disk.mood = mood }
        fillUp()
    }

    private func fillUp() {
        for _ in 0..<150 {
            guard let client = world.idle() else { return }
            let before = refusals
            client.trackMuch(record.number(1...5))
            client.connection.deliver(most: 5_000)
            for _ in 0..<3 where refusals == before { world.endTurn() }
            guard refusals == before else {
                isFull = true
                return record.count(.diskFilled)
            }
        }
    }

    /// Refuses batches, so that their dead letters require more room than there is.
    private func refuse() {
        for destination in world.destinations where destination.hasWaiting && record.oneIn(2) { destination.refuse() }
        for _ in 0..<3 { world.endTurn() }
    }

    /// Ends the daemon while settlements are written and dead letters still wait for room.
    private func endBeforeDeadLetters() {
        // Failed writes are retried after a second.
        for _ in 0..<record.number(0...3) {
            world.scheduler.advance(by: .seconds(1))
            for _ in 0..<3 { world.endTurn() }
        }
        guard service?.gate.settlements.hasDeadLetters == true else { return }
        record.count(.diedBeforeDeadLetters)
        world.die(.killed)
    }

    /// Ends the daemon while the disk is full, so that the next start has no room to rewrite uncertain data.
    private func endFull() {
        record.count(.diedFull)
        world.die(record.oneIn(2) ? .killed : .powerless)
    }

    private var refusals: Int { record.counts[.refusedByFullDisk] ?? 0 }

    func calmDown() {
        isCalm = true
    }

    /// The number of checks at which a write was still waiting.
    private var waits = 0
    private static let patience = 300

    /// If dead letters fill all segments, no settlement can be written, so an operator must delete dead letters.
    func proceed() -> Bool {
        waits = service?.gate.settlements.isIdle == false ? waits + 1 : 0
        guard waits == Fillers.patience, service?.gate.settlements.hasDeadLetters == false, let client = world.idle()
        else {
            return false
        }
        askToPurge(client)
        return true
    }

    /// True if there is no room for dead letters, which are as large as their events.
    var lacksRoomForDeadLetters: Bool { waits > Fillers.patience && service?.gate.settlements.hasDeadLetters == true }

    /// True if everything that waited for room is written, except dead letters.
    var isQuiet: Bool { service?.gate.settlements.isIdle == true || lacksRoomForDeadLetters }

    /// Checks, after everything has ended, that events are accepted again.
    func expectRoom() {
        guard !lacksRoomForDeadLetters else { return }
        purgeDeadLetters()
        for _ in 0..<5 {
            guard let client = world.idle() else { return }
            let before = refusals
            client.track()
            client.connection.deliver(most: 5_000)
            for _ in 0..<10 where !client.isContent { world.proceed(lettingTimePass: true) }
            record.expect(client.isContent, "an event is not answered on a small disk")
            record.expect(refusals == before, "all is delivered, but there is no room for an event")
        }
    }

    /// Deletes the dead letters, which legitimately use room.
    private func purgeDeadLetters() {
        guard let client = world.idle() else { return }
        isPurged = false
        askToPurge(client)
        for _ in 0..<10 { world.proceed(lettingTimePass: true) }
        record.expect(isPurged, "dead letters cannot be deleted on a small disk")
    }

    private var isPurged = false

    private func askToPurge(_ client: SimulatedClient) {
        client.ask("dead_letters.purge", "{}") { [unowned self] in isPurged = $0 != nil }
        client.connection.deliver(most: 5_000)
    }
}
