import HeadgateCore

/// The model of `orphan_retention` (Behaviour Q3): when dispatchers were removed, and when their queues may be dropped.
final class Orphans {
    /// The retention of a removed dispatcher's queue in milliseconds, or nil if longer than any history.
    private let retention: Int64?
    /// True if a queue may be dropped earlier to make room.
    private let makesRoom: Bool
    private let record: Record
    private let scheduler: SimulatedScheduler
    private let ages: Ages
    /// The earliest possible removal of each dispatcher, on the age scale.
    private var earliest: [String: Int64] = [:]
    /// The first removal of dispatchers that were added again, which a crash may bring into force again.
    private var returned: [String: Int64] = [:]
    /// Dispatchers for which an event was stored since, together with their return.
    private var needed: Set<String> = []
    /// The latest possible removal of each dispatcher in this life.
    private var latest: [String: Int64] = [:]
    /// For each overdue queue: when it was first seen, since when it counts as late, and how often.
    private var overdue: [String: (first: Instant, since: Instant?, times: Int)] = [:]
    /// Dispatchers known to the store.
    private var known: [DispatcherNumber: String] = [:]
    private var forgotten: Set<DispatcherNumber> = []
    /// Dispatchers whose retention was over before they were added again, so that their queues may be dropped.
    private var perhaps: Set<DispatcherNumber> = []
    /// Such dispatchers that the store does not know yet, because their first write still waits.
    private var perhapsUnknown: Set<String> = []

    init(_ record: Record, _ scheduler: SimulatedScheduler, _ ages: Ages, retention: Int64?, makesRoom: Bool) {
        (self.record, self.scheduler, self.ages) = (record, scheduler, ages)
        (self.retention, self.makesRoom) = (retention, makesRoom)
    }

    // MARK: Facts

    /// Records that a dispatcher is being removed, or is.
    func goes(_ queue: String, isCertain: Bool) {
        earliest[queue] = earliest[queue] ?? ages.now
        if isCertain { latest[queue] = ages.now }
    }

    /// Records that a dispatcher is being added again, or was.
    func comes(_ queue: String, isCertain: Bool) {
        (latest[queue], overdue[queue]) = (nil, nil)
        if isOver(queue) {
            let numbers = known.filter { $0.value == queue }.keys
            if numbers.isEmpty { perhapsUnknown.insert(queue) } else { perhaps.formUnion(numbers) }
        }
        guard isCertain, let since = earliest.removeValue(forKey: queue) else { return }
        returned[queue] = returned[queue] ?? since
        needed.remove(queue)
    }

    /// Records that an event is stored for a dispatcher.
    func stored(for queue: String) {
        needed.insert(queue)
    }

    /// Records the dispatchers that a new daemon starts with.
    func lifeBegan(with configured: Set<String>) {
        let before = latest
        (latest, overdue, forgotten, perhaps, perhapsUnknown) = ([:], [:], [], [], [])
        for queue in Set(known.values) {
            if configured.contains(queue) { comes(queue, isCertain: true) } else { isGone(queue, before[queue]) }
        }
    }

    /// Records that a daemon starts without a dispatcher. A reboot may have set the scale back before the removal.
    /// Depending on the disk, either the removal or this start then counts.
    /// - Parameter before: the latest possible removal in the life before.
    private func isGone(_ queue: String, _ before: Int64?) {
        let since = max(before ?? .min, earliest[queue] ?? .min, ages.now)
        goes(queue, isCertain: true)
        (earliest[queue], latest[queue]) = (min(earliest[queue] ?? .max, ages.now), since)
    }

    /// Records the dispatchers of an opened store, and checks their times of removal.
    /// - Parameters:
    ///   - isCertain: True if everything is as it was written.
    ///   - isLax: True if stored contents may be lost.
    func opened(_ dispatchers: [StoredDispatcher], isCertain: Bool, isLax: Bool) {
        known = Dictionary(dispatchers.map { ($0.number, $0.id) }) { $1 }
        if isCertain { returned = [:] }
        for dispatcher in dispatchers {
            guard isLax || !needed.contains(dispatcher.id), let first = returned[dispatcher.id],
                let since = dispatcher.orphanedSince, since >= first
            else { continue }
            earliest[dispatcher.id] = min(earliest[dispatcher.id] ?? since, since)
        }
    }

    func stored(_ dispatcher: StoredDispatcher) {
        known[dispatcher.number] = dispatcher.id
        if perhapsUnknown.remove(dispatcher.id) != nil { perhaps.insert(dispatcher.number) }
    }

    private func isOver(_ queue: String) -> Bool {
        guard let retention, let since = earliest[queue] else { return false }
        // If the scale was set back before the removal, the result depends on the disk: the start may have recorded a
        // new removal, or found the old one on another scale. A queue dropped at once is not checked; a later drop is
        // counted from that start.
        return ages.now >= since + retention || ages.now < since
    }

    /// Checks that the store is not asked to drop a dispatcher too early.
    func forgets(_ number: DispatcherNumber) {
        // A failed write is repeated.
        let queue = known.removeValue(forKey: number)
        guard forgotten.insert(number).inserted, let queue else { return }
        let isDue = isOver(queue) || perhaps.contains(number)
        let since = earliest[queue].map { "for \(ages.now - $0) ms" } ?? "never"
        record.expect(isDue || makesRoom, "the queue of \(queue) is dropped, removed \(since)")
        if isDue { record.count(.orphanDropped) }
    }

    /// True if a queue is kept whose retention will end.
    var isKeepingForNow: Bool { retention != nil && latest.keys.contains { known.values.contains($0) } }

    // MARK: At the end of a turn

    /// The time until a drop is written: some turns, or longer after a failed write.
    private static let patience = (turns: 30, time: Duration.seconds(2))

    /// Checks that no event is pending for a dropped dispatcher, where it would never be settled.
    /// - Parameter waiting: Returns the number of pending events of a dispatcher.
    func checkForgotten(_ waiting: (DispatcherNumber) -> Int) {
        let stray = forgotten.first { known[$0] == nil && waiting($0) > 0 }
        record.expect(stray == nil, "events are pending for \(stray ?? 0), which is dropped")
    }

    /// Checks that no queue is kept for much longer. The daemon checks once a minute.
    /// - Parameter isLeaving: True if a batch of the dispatcher is still in flight.
    func check(isLeaving: (String) -> Bool) {
        guard let retention else { return }
        for (queue, since) in latest where ages.now >= since + retention && known.values.contains(queue) {
            var found = overdue[queue] ?? (scheduler.now, nil, 0)
            if isLeaving(queue) { found = (scheduler.now, nil, 0) }
            if scheduler.now > found.first + .seconds(65) {
                found = (found.first, found.since ?? scheduler.now, found.times + 1)
            }
            overdue[queue] = found
            let isLate = found.since.map { scheduler.now > $0 + Orphans.patience.time } ?? false
            record.expect(
                found.times < Orphans.patience.turns || !isLate,
                "\(queue) was removed \(ages.now - since) ms ago, but its queue is kept")
        }
    }
}
