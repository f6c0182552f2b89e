import HeadgateCore

/// Since when dispatchers are gone, and what may become of their queues: the model of `orphan_retention` (Behaviour Q3).
final class Orphans {
    /// For how long the queue of a dispatcher that is gone is kept, in milliseconds; nil: for longer than any history.
    private let retention: Int64?
    /// Whether one may be given up earlier, to make room.
    private let makesRoom: Bool
    private let record: Record
    private let scheduler: SimulatedScheduler
    private let ages: Ages
    /// Since when each may be gone, on the scale of ages.
    private var earliest: [String: Int64] = [:]
    /// Since when those were gone at first that are back, where a crash may undo that.
    private var returned: [String: Int64] = [:]
    /// Those for which something was stored since, and with it that they are back.
    private var needed: Set<String> = []
    /// Since when it must count as gone in this life.
    private var latest: [String: Int64] = [:]
    /// When it was first seen that one should have been given up, since when that it was long ago, and how often.
    private var overdue: [String: (first: Instant, since: Instant?, times: Int)] = [:]
    /// Those of which the store knows.
    private var known: [DispatcherNumber: String] = [:]
    private var forgotten: Set<DispatcherNumber> = []
    /// Those whose time was over before they came back: they may have been given up.
    private var perhaps: Set<DispatcherNumber> = []

    init(_ record: Record, _ scheduler: SimulatedScheduler, _ ages: Ages, retention: Int64?, makesRoom: Bool) {
        (self.record, self.scheduler, self.ages) = (record, scheduler, ages)
        (self.retention, self.makesRoom) = (retention, makesRoom)
    }

    // MARK: Facts

    /// A dispatcher is to be removed, or is.
    func goes(_ lane: String, isCertain: Bool) {
        earliest[lane] = earliest[lane] ?? ages.now
        if isCertain { latest[lane] = ages.now }
    }

    /// One is to come back, or is back.
    func comes(_ lane: String, isCertain: Bool) {
        (latest[lane], overdue[lane]) = (nil, nil)
        if isOver(lane) { perhaps.formUnion(known.filter { $0.value == lane }.keys) }
        guard isCertain, let since = earliest.removeValue(forKey: lane) else { return }
        returned[lane] = returned[lane] ?? since
        needed.remove(lane)
    }

    /// Something is stored for one.
    func stored(for lane: String) {
        needed.insert(lane)
    }

    /// A daemon begins with these.
    func lifeBegan(with configured: Set<String>) {
        (latest, overdue, forgotten, perhaps) = ([:], [:], [], [])
        for lane in Set(known.values) {
            if configured.contains(lane) { comes(lane, isCertain: true) } else { isGone(lane) }
        }
    }

    /// A daemon begins without one. A boot may have bent the scale back behind the moment at which that was gone: whether
    /// that is still known, or what counts is this start, depends on what was on the disk.
    private func isGone(_ lane: String) {
        let since = max(earliest[lane] ?? .min, ages.now)
        goes(lane, isCertain: true)
        (earliest[lane], latest[lane]) = (min(earliest[lane] ?? .max, ages.now), since)
    }

    /// - Parameters:
    ///   - isCertain: whether all is as it was written.
    ///   - isLax: whether what was stored may be gone.
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
    }

    private func isOver(_ lane: String) -> Bool {
        guard let retention, let since = earliest[lane] else { return false }
        // A start on a scale that was bent back behind that knows of it by what was on the disk: it may have noted it anew, or have found
        // what was noted before on another scale. Of what it gives up at once nothing is said; later it is counted from that start.
        return ages.now >= since + retention || ages.now < since
    }

    /// The store is asked to forget one: not before its time.
    func forgets(_ number: DispatcherNumber) {
        // What could not be written is asked once more.
        let lane = known.removeValue(forKey: number)
        guard forgotten.insert(number).inserted, let lane else { return }
        let isDue = isOver(lane) || perhaps.contains(number)
        let since = earliest[lane].map { "for \(ages.now - $0) ms" } ?? "never"
        record.expect(isDue || makesRoom, "\(lane) is given up, and was gone \(since)")
        if isDue { record.count(.orphanGivenUp) }
    }

    /// Whether one is kept whose time will be over.
    var isKeepingForNow: Bool { retention != nil && latest.keys.contains { known.values.contains($0) } }

    // MARK: At the end of a turn

    /// What is given up is written down some turns later, and where a write before it has failed some time.
    private static let patience = (turns: 30, time: Duration.seconds(2))

    /// Nothing waits for those that are given up: nobody would ever settle it.
    /// - Parameter waiting: how many events wait for one.
    func checkForgotten(_ waiting: (DispatcherNumber) -> Int) {
        let stray = forgotten.first { known[$0] == nil && waiting($0) > 0 }
        record.expect(stray == nil, "events wait for \(stray ?? 0), which is given up")
    }

    /// None is kept for much longer: the daemon looks once a minute.
    /// - Parameter isLeaving: whether a batch of one is still on its way.
    func check(isLeaving: (String) -> Bool) {
        guard let retention else { return }
        for (lane, since) in latest where ages.now >= since + retention && known.values.contains(lane) {
            var found = overdue[lane] ?? (scheduler.now, nil, 0)
            if isLeaving(lane) { found = (scheduler.now, nil, 0) }
            if scheduler.now > found.first + .seconds(65) {
                found = (found.first, found.since ?? scheduler.now, found.times + 1)
            }
            overdue[lane] = found
            let isLate = found.since.map { scheduler.now > $0 + Orphans.patience.time } ?? false
            record.expect(
                found.times < Orphans.patience.turns || !isLate,
                "\(lane) has been gone for \(ages.now - since) ms, and is still kept")
        }
    }
}
