import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer

/// The age of each event: a model of the scale on which the daemon measures ages (Behaviour P7), and of the expired
/// events (Behaviour Q4).
///
/// The scale advances with true time, even while the machine sleeps or has no power. Only across a reboot must the
/// daemon rely on the wall clock. The scale is then ahead or behind by the clock's jumps since the newest stored wall
/// time. A wall clock that counts as not set adds nothing.
final class Ages {
    /// The maximum age of an event in milliseconds, or nil if no event expires in this history.
    let mostAge: Int64?
    private let record: Record
    private let scheduler: SimulatedScheduler
    /// The difference between the scale and true time in this life.
    private var ahead: Int64 = 0
    /// For each boot, its start in true time and the difference between scale and true time.
    private var boots: [String: (start: Int64, ahead: Int64)] = [:]
    /// The expiry of each stored event, on the scale.
    private var ends: [SequenceNumber: Int64] = [:]
    /// A lower bound for the receipt of events stored from now on.
    private var gatheringSince: Int64 = 0

    init(_ record: Record, _ scheduler: SimulatedScheduler, mostAge: Int64?) {
        (self.record, self.scheduler, self.mostAge) = (record, scheduler, mostAge)
    }

    /// The present time on the scale.
    var now: Int64 { scheduler.trueTime + ahead }

    // MARK: Events

    /// Returns a time to live for an event, or nil for none.
    func timeToLive() -> Int? {
        mostAge != nil && record.oneIn(2) ? record.pick([1, 300, 300, 1_200, 3_000, 20_000]) : nil
    }

    /// Records events that are given to the store, with the time to live in their data.
    func requested(_ chunk: Chunk) {
        defer { gatheringSince = now }
        guard let mostAge else { return }
        for event in chunk {
            let stamp = event.receivedStamp
            record.expect(
                (gatheringSince...now).contains(stamp), "\(event.sequenceNumber) is stamped \(stamp) at \(now)")
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

    /// Returns true if an event has expired.
    func isOver(_ number: SequenceNumber) -> Bool {
        ends[number].map { $0 <= now } ?? false
    }

    /// Returns the first expiry among the events if others expire later, or nil if there is no such moment ahead.
    func partEnds(of numbers: [SequenceNumber]) -> Int64? {
        let those = numbers.compactMap { ends[$0] }.sorted()
        guard let first = those.first, let last = those.last, first < last, first > now else { return nil }
        return first
    }

    /// Returns the moment at which all of the events have expired, or nil if some never expire.
    func end(of numbers: Set<SequenceNumber>) -> Int64? {
        mostAge.map { _ in numbers.compactMap { ends[$0] }.max() ?? now }
    }

    // MARK: Restarts

    /// Continues the scale from the stored state of an opened store.
    /// - Parameter isKept: True if the previous life ended with an orderly stop.
    func opened(_ state: StoredState, isKept: Bool) {
        let kept = state.kept[ClockPair.name].flatMap { ClockPair(kept: $0) }
        let isKept = isKept && !boots.isEmpty
        if let kept { check(kept, isKept: isKept) } else { record.expect(!isKept, "an orderly stop stored no clock") }
        if kept?.boot != scheduler.boot {
            let stamp = kept.map(stampAtBoot) ?? scheduler.wall.milliseconds
            ahead = max(stamp, state.newestStamp ?? .min) - scheduler.trueTime
        }
        if let before = boots.values.map(\.ahead).max(), before != ahead { record.count(.scaleBent) }
        boots[scheduler.boot] = (scheduler.trueTime - scheduler.sinceBoot, ahead)
        gatheringSince = now
    }

    /// Returns the scale's value at a boot after the pair was stored.
    private func stampAtBoot(_ pair: ClockPair) -> Int64 {
        let wall = scheduler.wall.milliseconds
        let newest = pair.reference?.wall ?? SimulatedScheduler.builtAt
        if wall <= max(newest, SimulatedScheduler.builtAt).milliseconds { record.count(.clockUnset) }
        guard wall >= SimulatedScheduler.builtAt.milliseconds else { return pair.stamp }
        let known = [pair.reference, pair.doubt].compactMap { $0 }
        if let first = known.first, Ages.isFar(wall, from: first) { record.count(.clockAhead) }
        guard let base = known.first(where: { follows(wall, $0) }) else { return pair.stamp }
        return max(pair.stamp, base.stamp + wall - base.wall.milliseconds)
    }

    private func follows(_ wall: Int64, _ reference: WallReference) -> Bool {
        wall > reference.wall.milliseconds && !Ages.isFar(wall, from: reference)
    }

    /// Returns true if a wall time is so far ahead of an earlier one that one boot alone is not believed.
    private static func isFar(_ wall: Int64, from reference: WallReference) -> Bool {
        wall - reference.wall.milliseconds > 400 * 86_400_000
    }

    /// Checks a stored pair: the scale must have had that value at that moment.
    private func check(_ pair: ClockPair, isKept: Bool) {
        guard let boot = boots[pair.boot] else { return record.expect(false, "a clock of an unknown boot is stored") }
        let then = boot.start + pair.sinceBoot + boot.ahead
        record.expect(pair.stamp == then, "the scale was stored as \(pair.stamp), not as \(then)")
        guard let reference = pair.reference else { return }
        let wall = reference.wall.milliseconds
        record.expect(
            reference.wall >= SimulatedScheduler.builtAt, "a stored wall time counts as not set: \(wall)")
        if isKept, Ages.isFar(scheduler.wall.milliseconds, from: reference) {
            record.expect(pair.doubt != nil, "the clock is far ahead, but an orderly stop stored no doubt")
        }
        // A wall time that was not later than the reference at the stop could not replace it.
        let wallThen = scheduler.wall.milliseconds - (now - pair.stamp)
        guard isKept, follows(wallThen, reference) else { return }
        let jumped = (wall - reference.stamp) - (scheduler.wall.milliseconds - now)
        record.expect(jumped == 0, "an orderly stop did not store a clock jump of \(jumped)")
    }

    /// Checks that the daemon's scale agrees with the model.
    func check(_ service: Service) {
        let stamp = service.gate.events.presentStamp()
        record.expect(stamp == now, "the age scale is at \(stamp), not at \(now)")
    }
}
