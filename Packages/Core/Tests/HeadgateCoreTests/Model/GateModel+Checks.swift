import HeadgateCore
import HeadgateCoreTesting

/// What must add up whenever a turn has ended.
extension GateModel {
    func checkCounts() {
        for id in ids {
            guard let dispatcher = dispatchers[id] else { continue }
            let summary = bench.summary(of: id)
            let silent = summary.expired + summary.evicted
            expect(summary.sent == dispatcher.delivered, "\(id): \(summary.sent) sent, not \(dispatcher.delivered)")
            expect(summary.dead == dispatcher.dead, "\(id): \(summary.dead) dead, not \(dispatcher.dead)")
            expect(summary.inFlight == dispatcher.inFlight.count, "\(id): \(summary.inFlight) in flight")
            expect(silent == 0 || profile.losesSilently, "\(id): \(silent) expired or evicted")
            expect(summary.evicted == 0 || profile.dropsOldest, "\(id): \(summary.evicted) evicted")
            expect(dispatcher.vanished.count <= silent, "\(id): \(dispatcher.vanished) passed over without a word")
            let left = dispatcher.unsettled.count - silent
            expect(summary.pending + summary.inFlight == left, "\(id): \(summary.pending) pending, \(left) left")
            checkExpired(summary, dispatcher)
            checkBusy(summary, dispatcher)
        }
        checkLive()
    }

    private func checkExpired(_ summary: DispatcherSummary, _ dispatcher: ModelDispatcher) {
        let due = dispatcher.unsettled.count { isExpired($0) }
        expect(summary.expired <= due, "\(dispatcher.id): \(summary.expired) expired of \(due)")
        // The sweeper finds what waits, however deep and whatever holds it.
        guard now >= startedAt + GateModel.sweepingTime else { return }
        let overdue = dispatcher.unsettled.subtracting(dispatcher.inFlight).count { number in
            isExpired(number, before: GateModel.sweepingTime)
                && stored[number].map { $0.storedAt + GateModel.sweepingTime <= now } ?? false
        }
        let silent = summary.expired + summary.evicted
        expect(silent >= overdue, "\(dispatcher.id): \(silent) expired or evicted, \(overdue) are overdue")
    }

    /// A dispatcher with an open way and something to send is sending. (What waits for this very moment may go in the
    /// next turn.)
    private func checkBusy(_ summary: DispatcherSummary, _ dispatcher: ModelDispatcher) {
        guard !profile.losesSilently, dispatcher.inFlight.isEmpty, dispatcher.waitsUntil < now,
            let first = dispatcher.unsettled.min()
        else { return }
        let isFlushed = flushTarget(of: dispatcher.id) >= first && isOpenForFlush(dispatcher)
        let isOpen = isOpen(dispatcher, pending: summary.pending)
        expect(!isFlushed && !isOpen, "\(dispatcher.id): idle, though \(first) may go")
    }

    /// What the store counts (Behaviour Q4).
    private func checkLive() {
        let live = bench.gate.stored.events
        if profile.losesSilently {
            let most = ids.map { bench.summary(of: $0).pending + bench.summary(of: $0).inFlight }
            expect(live >= most.max() ?? 0 && live <= most.reduce(0, +), "\(live) live of \(most)")
        } else {
            expect(live == (profile.isOrderly ? liveEvents : liveByRoute), "\(live) live, not \(liveEvents)")
        }
        expect((bench.gate.stored.bytes == 0) == (live == 0), "\(bench.gate.stored) stored")
        guard profile.dropsOldest else { return }
        let inFlight = dispatchers.values.reduce(0) { $0 + $1.inFlight.count }
        expect(live <= bench.limits.maxEvents + inFlight, "\(live) live, over the limit")
    }

    /// Events that some dispatcher has not settled.
    var liveEvents: Int {
        dispatchers.values.reduce(into: Set<SequenceNumber>()) { $0.formUnion($1.unsettled) }.count
    }

    /// What the slowest dispatcher of each route has left: with several batches in flight dispatchers settle out of
    /// order, and this is what the store counts.
    private var liveByRoute: Int {
        let routes = Set(stored.values.map(\.targets))
        return routes.reduce(0) { sum, route in
            let left = route.map { id in
                dispatchers[id]?.unsettled.count { stored[$0]?.targets == route } ?? 0
            }
            return sum + (left.max() ?? 0)
        }
    }

    /// Nothing is stuck once all barriers are open, the destinations are well, and time has passed.
    func checkQuiescence() {
        expect(bench.gate.stored == .zero, "\(bench.gate.stored) is stuck")
        expect(flushes.isEmpty, "\(flushes.keys.sorted()) never end")
        expect(offered.isEmpty, "\(offered.keys.sorted()) are never answered")
        for id in ids {
            let summary = bench.summary(of: id)
            let dispatcher = dispatchers[id]
            expect(summary.pending == 0 && summary.inFlight == 0, "\(id): \(summary.pending) pending at the end")
            let left = (dispatcher?.unsettled.count ?? 0) - summary.expired - summary.evicted
            expect(left == 0, "\(id): \(left) lost")
        }
    }

    // MARK: Restarting

    /// The process was killed and started again over what the store kept.
    func restarted(over state: StoredState) {
        for (number, event) in offered where number <= state.lastSequenceNumber { store(number, event) }
        for (id, number) in places where offered[number] != nil && number > state.lastSequenceNumber {
            places[id] = nil
        }
        offered = [:]
        flushes = [:]
        startedAt = now
        for id in ids { restart(id, over: state) }
    }

    private func restart(_ id: String, over state: StoredState) {
        guard let dispatcher = dispatchers[id], let kept = state.dispatchers.first(where: { $0.id == id }) else {
            return expect(false, "\(id) is forgotten")
        }
        let left = Set(stored.filter { !kept.settled.contains($0.key) && $0.value.targets.contains(id) }.keys)
        let lost = dispatcher.unsettled.subtracting(left)
        expect(lost.isEmpty || profile.losesSilently, "\(id): \(lost.sorted()) lost by a restart")
        let again = left.subtracting(dispatcher.unsettled)
        expect(again.isEmpty || !isWrittenDown, "\(id): \(again.sorted()) again after a restart")
        dispatchers[id]?.restarted(with: left)
        let isKept = state.kept["pause:\(id)"] != nil
        expect(isKept == dispatcher.isPaused || !isWrittenDown, "\(id): the pause is forgotten")
        dispatchers[id]?.isPaused = isKept
        dispatchers[id]?.isPauseFlushable = state.kept["pause:\(id)"]?.first == UInt8(ascii: "F")
    }
}
