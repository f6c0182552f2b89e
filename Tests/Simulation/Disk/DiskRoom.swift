import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer

/// A disk so small that events fill it.
struct DiskRoom {
    /// Bytes of a segment, and of the smallest one that is made where there is no room for that.
    let segmentSize: Int
    let leastSegmentSize: Int
    /// Bytes that all files may have together.
    let bytes: Int

    /// It is the disk that is full, and not the store.
    static let settings: DataObject = ["store": ["max_events": 5_000]]

    init(_ record: Record) {
        segmentSize = 32 << 10
        leastSegmentSize = record.pick([8, 32]) << 10
        // Often there is no room beside whole segments, not even for a small file.
        bytes = record.number(3...6) * segmentSize + (record.oneIn(2) ? 100 : record.number(0...segmentSize - 1))
    }
}

/// Those who fill a disk that is small. Whatever was on it: once all is delivered, and that is written down, events are taken again
/// (Behaviour Q8).
final class Fillers: Actor {
    private unowned let world: World
    private var service: Service?
    private var isCalm = false
    /// Whether the disk has been full in this life.
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
        let hasLetters = isFull && service?.gate.settlements.hasLetters == true
        return [
            Act(6, fill), Act(isFull ? 12 : 0, endFull), Act(isFull ? 8 : 0, refuse),
            Act(hasLetters ? 30 : 0, endBeforeLetters),
        ]
    }

    /// Much comes until there is no room, and nobody takes any of it. At times the disk does not sync all of that.
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
            client.connection.tell(most: 5_000)
            for _ in 0..<3 where refusals == before { world.endTurn() }
            guard refusals == before else {
                isFull = true
                return record.count(.diskFilled)
            }
        }
    }

    /// What somebody was sent has died, and its dead letters need more room than there is.
    private func refuse() {
        for side in world.sides where side.hasWaiting && record.oneIn(2) { side.refuse() }
        for _ in 0..<3 { world.endTurn() }
    }

    /// The worst moment for what is settled, which is said before dead letters for which there is no room.
    private func endBeforeLetters() {
        // What could not be written is tried again after a second.
        for _ in 0..<record.number(0...3) {
            world.scheduler.advance(by: .seconds(1))
            for _ in 0..<3 { world.endTurn() }
        }
        guard service?.gate.settlements.hasLetters == true else { return }
        record.count(.diedBeforeLetters)
        world.die(.killed)
    }

    /// The worst moment to start anew: what is in doubt has to be written once more, and there is no room for it.
    private func endFull() {
        record.count(.diedFull)
        world.die(record.oneIn(2) ? .killed : .powerless)
    }

    private var refusals: Int { record.counts[.refusedByFullDisk] ?? 0 }

    func calmDown() {
        isCalm = true
    }

    /// How often something has waited in vain to be written down.
    private var waits = 0
    private static let patience = 300

    /// Dead letters may hold all segments, with nothing left to say what is settled: then a person deletes them.
    func goOn() -> Bool {
        waits = service?.gate.settlements.isIdle == false ? waits + 1 : 0
        guard waits == Fillers.patience, service?.gate.settlements.hasLetters == false, let client = world.idle() else {
            return false
        }
        askToPurge(client)
        return true
    }

    /// Whether there is no room for dead letters, which take as much as their events.
    var lacksRoomForLetters: Bool { waits > Fillers.patience && service?.gate.settlements.hasLetters == true }

    /// What found no room has been written since, but for dead letters.
    var isQuiet: Bool { service?.gate.settlements.isIdle == true || lacksRoomForLetters }

    /// All is quiet, and whoever looks at what became of the events has done so.
    func expectRoom() {
        guard !lacksRoomForLetters else { return }
        purgeLetters()
        for _ in 0..<5 {
            guard let client = world.idle() else { return }
            let before = refusals
            client.track()
            client.connection.tell(most: 5_000)
            for _ in 0..<10 where !client.isContent { world.goOn(lettingTimePass: true) }
            record.expect(client.isContent, "an event is not answered on a small disk")
            record.expect(refusals == before, "all is delivered, and there is no room for an event")
        }
    }

    /// Dead letters take their room rightly.
    private func purgeLetters() {
        guard let client = world.idle() else { return }
        isPurged = false
        askToPurge(client)
        for _ in 0..<10 { world.goOn(lettingTimePass: true) }
        record.expect(isPurged, "dead letters cannot be deleted on a small disk")
    }

    private var isPurged = false

    private func askToPurge(_ client: SimulatedClient) {
        client.ask("dead_letters.purge", "{}") { [unowned self] in isPurged = $0 != nil }
        client.connection.tell(most: 5_000)
    }
}
