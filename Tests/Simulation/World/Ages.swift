import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer

/// How old each event is: the model of the scale on which the daemon counts ages (Behaviour P7), and of what is too old on it
/// (Behaviour Q4).
///
/// The scale goes as true time goes, asleep or without power. Only from one boot to the next the daemon has to believe the wall
/// clock: then the scale is ahead of true time, or behind, by what that jumped since the newest wall time that was kept. A wall clock
/// that counts as not set adds nothing.
final class Ages {
    /// How long the store keeps an event, in milliseconds; nil where nothing grows too old in this history.
    let mostAge: Int64?
    private let record: Record
    private let scheduler: SimulatedScheduler
    /// How far the scale is ahead of true time in this life.
    private var ahead: Int64 = 0
    /// When each boot began, in true time, and how far the scale was ahead in it.
    private var boots: [String: (start: Int64, ahead: Int64)] = [:]
    /// When each event that was stored is of no more use, on the scale.
    private var ends: [SequenceNumber: Int64] = [:]
    /// No event that is stored from now on came before.
    private var gatheringSince: Int64 = 0

    init(_ record: Record, _ scheduler: SimulatedScheduler, mostAge: Int64?) {
        (self.record, self.scheduler, self.mostAge) = (record, scheduler, mostAge)
    }

    /// The present on the scale.
    var now: Int64 { scheduler.trueTime + ahead }

    // MARK: Events

    /// A time to live for an event that a client is about to send; nil: none of its own.
    func timeToLive() -> Int? {
        mostAge != nil && record.oneIn(2) ? record.pick([1, 300, 300, 1_200, 3_000, 20_000]) : nil
    }

    /// Events are given to the store. What their clients asked for is in their data.
    func asked(_ chunk: Chunk) {
        defer { gatheringSince = now }
        guard let mostAge else { return }
        for event in chunk {
            let stamp = event.receivedStamp
            record.expect(
                (gatheringSince...now).contains(stamp), "\(event.sequenceNumber) came at \(stamp), it says, at \(now)")
            let timeToLive = Ages.timeToLive(of: event)
            ends[event.sequenceNumber] = stamp + min(mostAge, timeToLive ?? mostAge)
        }
    }

    private static func timeToLive(of event: StoredEvent) -> Int64? {
        guard case .object(let object)? = try? DataItem(parsing: event.json(attempt: 1)),
            case .object(let data)? = object["data"]
        else { return nil }
        return data["ttl"].flatMap(Int.init(dataItem:)).map(Int64.init)
    }

    /// Whether an event is of no more use.
    func isOver(_ number: SequenceNumber) -> Bool {
        ends[number].map { $0 <= now } ?? false
    }

    /// When the first of some events are of no more use, where others are not yet; nil where all are at once, or never.
    func partEnds(of numbers: [SequenceNumber]) -> Int64? {
        let those = numbers.compactMap { ends[$0] }.sorted()
        guard let first = those.first, let last = those.last, first < last, first > now else { return nil }
        return first
    }

    /// When all of these are of no more use; nil when some never are.
    func end(of numbers: Set<SequenceNumber>) -> Int64? {
        mostAge.map { _ in numbers.compactMap { ends[$0] }.max() ?? now }
    }

    // MARK: Restarts

    /// A store was opened: from what it kept the scale goes on.
    /// - Parameter isKept: whether the life before ended in order, with all written down.
    func opened(_ state: StoredState, isKept: Bool) {
        let kept = state.kept[ClockPair.name].flatMap { ClockPair(kept: $0) }
        let isKept = isKept && !boots.isEmpty
        if let kept { check(kept, isKept: isKept) } else { record.expect(!isKept, "no clock was kept over a stop") }
        if kept?.boot != scheduler.boot {
            let stamp = kept.map(stampAtBoot) ?? scheduler.wall.milliseconds
            ahead = max(stamp, state.newestStamp ?? .min) - scheduler.trueTime
        }
        if let before = boots.values.map(\.ahead).max(), before != ahead { record.count(.scaleBent) }
        boots[scheduler.boot] = (scheduler.trueTime - scheduler.sinceBoot, ahead)
        gatheringSince = now
    }

    /// Where the scale stands at a boot after a pair was kept.
    private func stampAtBoot(_ pair: ClockPair) -> Int64 {
        let wall = scheduler.wall.milliseconds
        let newest = pair.reference?.wall ?? SimulatedScheduler.builtAt
        if wall <= max(newest, SimulatedScheduler.builtAt).milliseconds { record.count(.clockUnset) }
        guard let reference = pair.reference, wall > newest.milliseconds else { return pair.stamp }
        return max(pair.stamp, reference.stamp + wall - reference.wall.milliseconds)
    }

    /// A pair says where the scale stood at some moment.
    private func check(_ pair: ClockPair, isKept: Bool) {
        guard let boot = boots[pair.boot] else { return record.expect(false, "a clock of no boot was kept") }
        let then = boot.start + pair.sinceBoot + boot.ahead
        record.expect(pair.stamp == then, "the scale was kept as \(pair.stamp), and stood at \(then)")
        guard let reference = pair.reference else { return }
        let wall = reference.wall.milliseconds
        record.expect(
            reference.wall >= SimulatedScheduler.builtAt, "a wall time was kept that counts as not set: \(wall)")
        guard isKept, scheduler.wall.milliseconds > wall else { return }
        let jumped = (wall - reference.stamp) - (scheduler.wall.milliseconds - now)
        record.expect(jumped == 0, "the clock jumped by \(jumped), and an orderly stop did not keep it")
    }

    /// The daemon's scale is where it must be.
    func check(_ service: Service) {
        let stamp = service.gate.events.presentStamp()
        record.expect(stamp == now, "the age scale stands at \(stamp), not at \(now)")
    }
}
