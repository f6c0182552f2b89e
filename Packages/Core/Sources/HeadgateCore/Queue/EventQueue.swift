import HeadgateData

/// The one queue of all dispatchers: gives accepted events their places, gathers them into groups that are committed
/// together (Behaviour Q5), and knows what is stored and unsettled.
///
/// What came in a turn is a group, which goes to the store at the turn's end, behind those that are on their way: the store commits
/// together what waits. With many on their way the next is gathered over several turns.
///
/// What is looked at for each event is not checked for exclusive access at run time, which took a fifteenth of the loop's time: nothing that is
/// called with it knows the queue.
public final class EventQueue {
    let scheduler: any Scheduler
    @exclusivity(unchecked) private(set) var ages: AgeScale
    /// The newest wall time that counted as set, this run's included (Behaviour P7).
    @exclusivity(unchecked) private var wallReference: WallReference?
    private let builtAt: Timestamp
    @exclusivity(unchecked) private(set) var limits: StoreLimits
    /// How old events may become by these, in milliseconds.
    @exclusivity(unchecked) private(set) var maxAge: Int64
    public let store: any EventStore
    @exclusivity(unchecked) var routes = RouteTable()
    @exclusivity(unchecked) var backlog = Backlog()
    /// What the next group has to bring into the store with it.
    @exclusivity(unchecked) var groundwork = Groundwork()
    /// What the sweeper has looked through.
    @exclusivity(unchecked) var sweep = Sweep()
    private let bounds: GroupBounds
    /// The group in the making.
    @exclusivity(unchecked) private var gathering = GatheringGroup()
    /// Tells the group in the making apart from those before it: what came after a commit had begun is not in that
    /// commit, and must not be acknowledged with it (Behaviour P1).
    public var gatheringGroup: Int { groupNumber }
    @exclusivity(unchecked) private var groupNumber = 0
    @exclusivity(unchecked) private var committing = CommittingGroups()
    @exclusivity(unchecked) private var dedupe: DedupeWindow
    /// What ids are hashed with.
    let dedupeKey: DedupeKey
    /// The store's own id.
    let identity: StoreIdentity
    /// How many ids had been let go of when the store was told last.
    private var toldForgotten = 0
    @exclusivity(unchecked) private var recent: RecentChunks
    @exclusivity(unchecked) private var isCommitDue = false
    /// Who waits until the group in the making has room.
    private var senders = SenderLine()
    private var isCallingSenders = false
    /// What the clocks said when the first event of this turn came.
    @exclusivity(unchecked) private var arrival: Receipt?
    /// How long clients waited for the acknowledgements of events that were stored (Behaviour O1).
    @exclusivity(unchecked) public private(set) var acknowledging = Histogram(.seconds)
    @exclusivity(unchecked) public private(set) var lastSequenceNumber: SequenceNumber = 0
    /// The newest event that is stored.
    @exclusivity(unchecked) private(set) var lastStored: SequenceNumber = 0
    /// Is told of each group that was stored.
    @exclusivity(unchecked) weak var host: (any GateHost)?
    /// What a store calls when it has answered: made once, not for each group.
    @exclusivity(unchecked) private var whenAppended: (StoreFault?) -> Void = { _ in }
    /// Remembers what was stored.
    private let trace: EventTrace?

    static let recentBytes = 2 << 20

    public init(
        scheduler: any Scheduler, store: any EventStore, limits: StoreLimits, state: consuming StoredState,
        bounds: GroupBounds = GroupBounds(), trace: EventTrace? = nil, builtAt: Timestamp = .unknownBuild
    ) {
        self.scheduler = scheduler
        self.builtAt = builtAt
        self.bounds = bounds
        self.trace = trace
        self.store = store
        (self.limits, maxAge) = (limits, limits.maxAge.wholeMilliseconds)
        let pair = state.kept[ClockPair.name].flatMap { ClockPair(kept: $0) }
        ages = AgeScale(scheduler.clocks, kept: pair, newest: state.newestStamp, builtAt: builtAt)
        wallReference = pair?.reference
        dedupe = DedupeWindow(capacity: limits.dedupeIDs, length: limits.dedupeWindow.wholeMilliseconds)
        dedupeKey = state.kept[DedupeKey.name].flatMap { DedupeKey(kept: $0) } ?? DedupeKey()
        if state.kept[DedupeKey.name] != dedupeKey.kept { groundwork.kept[DedupeKey.name] = dedupeKey.kept }
        identity = state.kept[StoreIdentity.name].flatMap { StoreIdentity(kept: $0) } ?? StoreIdentity()
        if state.kept[StoreIdentity.name] != identity.kept { groundwork.kept[StoreIdentity.name] = identity.kept }
        routes = RouteTable(saved: state.routes)
        lastSequenceNumber = state.lastSequenceNumber
        lastStored = state.lastSequenceNumber
        recent = RecentChunks(mostBytes: EventQueue.recentBytes, lastSequenceNumber: state.lastSequenceNumber)
        whenAppended = { [weak self] in self?.committed($0) }
        restore(state.unsettled)
        remember(consume state)
    }

    /// Other limits are in force from now on.
    func setLimits(_ new: StoreLimits) {
        (limits, maxAge) = (new, new.maxAge.wholeMilliseconds)
        dedupe.setCapacity(limits.dedupeIDs)
        dedupe.length = limits.dedupeWindow.wholeMilliseconds
    }

    private func restore(_ unsettled: [DispatcherNumber: RouteTallies]) {
        for (dispatcher, tallies) in unsettled {
            for (route, tally) in tallies { backlog.add(tally, route: route, dispatchers: [dispatcher]) }
        }
    }

    /// Takes over the ids. Those that the store gave are let go of one by one: they take as much memory as is made of them.
    private func remember(_ state: consuming StoredState) {
        var rest = state.recentIDs
        state.recentIDs = []
        rest.reverse()
        while let ids = rest.popLast() {
            ids.visit(dedupeKey) { dedupe.insert($0, sequenceNumber: $1, stamp: $2) }
        }
    }

    // MARK: Time

    /// The present on the age scale.
    func presentStamp() -> Int64 { present().stamp }

    /// The present on the monotonic clock, and on the age scale.
    private func present() -> Present {
        let now = scheduler.now
        ages.look(now: now, sinceBoot: scheduler.sinceBoot)
        return Present(now: now, stamp: ages.stamp(now))
    }

    /// Where the age scale stands now, beside all clocks.
    func clockPair() -> ClockPair {
        let clocks = scheduler.clocks
        ages.look(now: clocks.now, sinceBoot: clocks.sinceBoot)
        let stamp = ages.stamp(clocks.now)
        if WallReference.isSet(clocks.wall, after: wallReference, builtAt: builtAt) {
            wallReference = WallReference(wall: clocks.wall, stamp: stamp)
        }
        return ClockPair(stamp: stamp, clocks, reference: wallReference)
    }

    /// The time before which the wall clock counts as not set, if the wall clock is earlier than that by more than a minute;
    /// nil if it counts as set (Behaviour P7).
    var wallIsBefore: Timestamp? {
        let least = max(builtAt.milliseconds, (wallReference?.wall.milliseconds ?? .min))
        let (wall, tolerance) = (scheduler.wall.milliseconds, Int64(60_000))
        return wall < least && least - wall > tolerance ? Timestamp(milliseconds: least) : nil
    }

    /// When what comes in this turn is received: all of it at one moment, so that the clocks are read once.
    private func receipt() -> Receipt {
        if let arrival { return arrival }
        let present = present()
        let receipt = Receipt(now: present.now, stamp: present.stamp, wall: scheduler.wall)
        arrival = receipt
        atEndOfTurn()
        return receipt
    }

    /// By the wall clock, when what comes in this turn is received.
    public var receivedAt: Timestamp { receipt().wall }

    // MARK: Accepting

    /// Whether the group in the making has no room: those who send should wait for ``whenRoom(_:)``.
    public var isGroupFull: Bool {
        gathering.byteCount >= bounds.veryMuch
            && !committing.hasRoom(for: gathering.byteCount, most: bounds.mostCommitting)
    }

    /// Gives an event its place, or says why not. What was offered in one turn is committed together, unless it is much.
    public func admit(_ event: TrackedEvent) -> Admission {
        commitMuch()
        let now = receipt()
        let fingerprint = event.identity.map(dedupeKey.fingerprint)
        if let fingerprint, let first = dedupe.find(fingerprint, at: now.stamp) { return .duplicate(first) }
        guard event.route != RouteTable.nobody else { return .unrouted }
        let byteCount = event.storedByteCount(lastSequenceNumber + 1)
        switch refusal(of: Tally(events: 1, bytes: byteCount)) {
        case .queueFull: return .queueFull
        case .tooLarge: return .tooLarge
        case nil: return .stored(gather(event, byteCount, fingerprint, at: now))
        }
    }

    /// Gives events their places, all of them or, when there is no room for those that are new, none.
    /// - Returns: what became of each, in their order.
    public func admit(all events: [TrackedEvent]) throws(AdmissionRefusal) -> [Admission] {
        commitMuch()
        let now = receipt()
        var plan = AdmissionPlan(after: lastSequenceNumber)
        for event in events {
            let fingerprint = event.identity.map(dedupeKey.fingerprint)
            plan.add(event, fingerprint, remembered: fingerprint.flatMap { dedupe.find($0, at: now.stamp) })
        }
        if let refusal = refusal(of: plan.new) { throw refusal }
        for (event, entry) in zip(events, plan.entries) {
            guard case .stored(let number) = entry.admission else { continue }
            gather(event, event.storedByteCount(number), entry.fingerprint, at: now)
        }
        return plan.entries.map(\.admission)
    }

    /// Puts an event into the group in the making.
    /// - Parameter byteCount: what it takes under its number.
    @discardableResult
    private func gather(
        _ event: TrackedEvent, _ byteCount: Int, _ fingerprint: DedupeWindow.Fingerprint?, at now: Receipt
    ) -> SequenceNumber {
        lastSequenceNumber += 1
        gathering.append(
            event, byteCount, known: fingerprint, sequenceNumber: lastSequenceNumber, receivedAt: now.wall,
            receivedStamp: now.stamp)
        trace?.accepted(event, lastSequenceNumber, receivedAt: now.wall, in: &gathering.traced)
        gathering.arrivals.note(at: now.now)
        if let fingerprint { dedupe.insert(fingerprint, sequenceNumber: lastSequenceNumber, stamp: now.stamp) }
        atEndOfTurn()
        return lastSequenceNumber
    }

    /// Gives the event of a dead letter a new place, at the end of the queue, for the dispatcher it died for alone. Once
    /// it is stored the letter is gone. Its id is not looked up: it may well have come within the window (Behaviour Q7).
    ///
    /// There has to be room, whatever happens to new events for which there is none: nobody makes room for a dead letter.
    func readmit(_ event: StoredEvent, of letter: StoredLetter, namespace: TraceWords.Number = 0) -> Admission {
        let digits = (lastSequenceNumber + 1).digitCount - event.sequenceNumber.digitCount
        let tally = Tally(events: 1, bytes: event.byteCount + digits)
        guard !limits.excess(of: held + tally) else { return .queueFull }
        lastSequenceNumber += 1
        gathering.append(
            event, of: letter.number, sequenceNumber: lastSequenceNumber,
            route: routes.number(of: [letter.letter.dispatcher]), receivedStamp: receipt().stamp)
        trace?.readmitted(
            event, lastSequenceNumber, route: routes.number(of: [letter.letter.dispatcher]), namespace: namespace,
            in: &gathering.traced)
        atEndOfTurn()
        return .stored(lastSequenceNumber)
    }

    /// Why so much more is not accepted; nil when it is. Nothing more always is.
    @inline(__always)
    private func refusal(of new: Tally) -> AdmissionRefusal? {
        if new.bytes > limits.maxBytes { return .tooLarge }
        guard limits.overflow == .reject, new.events > 0 else { return nil }
        return limits.excess(of: held + new) ? .queueFull : nil
    }

    /// What is stored, and what is about to be.
    var held: Tally {
        backlog.live + gathering.tally + committing.tally
    }

    /// How many events for a dispatcher are offered and not stored yet.
    func offered(to dispatcher: DispatcherNumber) -> Int {
        offered.reduce(0) { sum, offered in
            routes.dispatchers(of: offered.route).contains(dispatcher) ? sum + offered.tally.events : sum
        }
    }

    /// What is offered and not stored yet, of each route.
    private var offered: [(route: RouteNumber, tally: Tally)] {
        Array(gathering.tallies) + committing.tallies
    }

    /// Forgets the sets of dispatchers to which no event has to go any more, when there are many. Where events of theirs
    /// still lie in the store, all of their dispatchers have settled them.
    /// - Parameter kept: one that has to stay.
    /// - Returns: those that the store may forget as well.
    func forgetUnusedRoutes(except kept: RouteNumber) -> [RouteNumber] {
        guard routes.isCrowded else { return [] }
        let used = Set(backlog.routes).union(offered.map(\.route)).union([kept])
        return routes.forget(unless: used.contains)
    }

    /// Calls `work` once all that has been offered so far is stored, with nil, or could not be stored.
    public func whenCommitted(_ work: @escaping (StoreFault?) -> Void) {
        gathering.waiters.append(StoreWaiter(tell: work))
        atEndOfTurn()
    }

    /// Calls `work` at the end of a turn in which the group in the making has room that nobody has taken who asked before.
    public func whenRoom(_ work: @escaping () -> Void) {
        senders.add(work)
        callSenders()
    }

    private func callSenders() {
        guard !senders.isEmpty, !isCallingSenders, !isGroupFull else { return }
        isCallingSenders = true
        scheduler.soon { [self] in
            isCallingSenders = false
            while !isGroupFull, let sender = senders.takeFirst() { sender() }
        }
    }

    // MARK: Committing

    private func atEndOfTurn() {
        guard !isCommitDue else { return }
        isCommitDue = true
        scheduler.atEndOfTurn(.commit) { self.endTurn() }
    }

    private func endTurn() {
        isCommitDue = false
        arrival = nil
        commit()
        callSenders()
    }

    /// Much does not wait for the turn's end: a store that has nothing to do begins while the rest of the turn comes.
    private func commitMuch() {
        let most = committing.isEmpty ? bounds.much : bounds.veryMuch
        if gathering.byteCount >= most { commit() }
    }

    private func commit() {
        guard !gathering.isIdle, committing.hasRoom(for: gathering.byteCount, most: bounds.mostCommitting)
        else { return }
        let waiters = endGathering()
        guard let chunk = gathering.takeChunk() else {
            return committing.isEmpty ? waiters.tell(nil) : committing.add(waiters)
        }
        let group = gathering.group(
            chunk, behind: committing.newest ?? lastStored, newRoutes: routes.takeUnsaved(),
            groundwork: groundwork, forgottenIDs: newlyForgotten())
        committing.add(
            CommittingGroup(group: group, waiters: waiters, arrivals: gathering.arrivals, traced: gathering.traced))
        gathering.beginNext()
        store.append(group, then: whenAppended)
    }

    private func committed(_ fault: StoreFault?) {
        guard let group = committing.takeOldest() else { return }
        if let fault { fail(group, fault) } else { succeed(group) }
        // What is gathered in this turn goes at its end.
        if !isCommitDue { commit() }
        callSenders()
    }

    private func succeed(_ group: CommittingGroup) {
        let previous = lastStored
        lastStored = group.group.chunk.lastSequenceNumber
        if !group.group.groundwork.isEmpty { groundwork.saved(group.group.groundwork) }
        recent.append(group.group.chunk)
        trace?.stored(group.traced)
        for (route, tally) in group.group.tallies {
            backlog.add(tally, route: route, dispatchers: routes.dispatchers(of: route))
        }
        host?.stored(group.group.tallies, behind: previous)
        group.arrivals.acknowledged(at: scheduler.now, in: &acknowledging)
        group.waiters.tell(nil)
    }

    /// What came since may hold repeats of events that are not stored now: it fails as well, be it on its way or gathered.
    private func fail(_ group: CommittingGroup, _ fault: StoreFault) {
        if let doom = group.doom { return group.waiters.tell(doom) }
        routes.restoreUnsaved(group.group.newRoutes)
        routes.restoreUnsaved(committing.doom(fault))
        if let first = group.group.chunk.first(where: { _ in true }) { dedupe.forget(from: first.sequenceNumber) }
        let late = endGathering()
        gathering = GatheringGroup()
        if committing.isEmpty { return (group.waiters + late).tell(fault) }
        committing.add(late)
        group.waiters.tell(fault)
    }

    /// Whoever comes from now on waits for another group.
    private func endGathering() -> [StoreWaiter] {
        groupNumber += 1
        return gathering.takeWaiters()
    }

    /// Lets go of all who wait, and are never told: they hold the daemon, which is gone while its process goes on.
    func forgetWaiters() {
        (committing, gathering, senders) = (CommittingGroups(), GatheringGroup(), SenderLine())
    }

    // MARK: Reading

    /// The events behind a place if they are in memory.
    func recentChunk(after sequenceNumber: SequenceNumber) -> Chunk? {
        recent.chunk(after: sequenceNumber)
    }

    /// Lets go of events that every dispatcher has settled.
    func trimRecent(through sequenceNumber: SequenceNumber) {
        recent.trim(through: sequenceNumber)
    }

    // MARK: Growing old

    /// What is too old now (Behaviour Q4).
    var ageLimit: AgeLimit {
        let now = presentStamp()
        return AgeLimit(receivedBy: now - maxAge, endedBy: now)
    }

    // MARK: Remembering ids

    /// How many ids are remembered, and since when by the wall clock (Behaviour Q7).
    public var remembered: (ids: Int, since: Timestamp?) {
        let now = presentStamp()
        let (ids, since) = dedupe.remembered(at: now)
        return (ids, since.map { Timestamp(milliseconds: scheduler.wall.milliseconds - (now - $0)) })
    }

    /// The place of the event that an id was given to; nil where that is not remembered (Behaviour Q7).
    func firstEvent(of id: String, in namespace: String) -> SequenceNumber? {
        dedupe.find(dedupeKey.fingerprint(of: id, in: namespace), at: presentStamp())
    }

    /// Lets go of ids beyond the window; those that many came at once, a part of them each time.
    /// - Returns: what the store may forget as well.
    func forgetOldIDs() -> StoreChange {
        dedupe.forget(at: presentStamp(), most: EventQueue.mostForgotten)
        toldForgotten = dedupe.forgotten
        return .forgetIDs(through: dedupe.forgottenThrough)
    }

    private static let mostForgotten = 65_536

    /// What the store may forget with the next group. It is told now and then: to forget some rows costs hardly more than
    /// to forget one. What it holds is thus at most a sixteenth more than is remembered.
    private func newlyForgotten() -> SequenceNumber {
        guard dedupe.forgotten - toldForgotten >= max(1, dedupe.capacity / 16) else { return 0 }
        toldForgotten = dedupe.forgotten
        return dedupe.forgottenThrough
    }
}

/// What time it is.
private struct Present {
    let now: Instant
    /// On the age scale.
    let stamp: Int64
}

/// When something was received, by all clocks.
private struct Receipt {
    let now: Instant
    /// On the age scale.
    let stamp: Int64
    let wall: Timestamp
}

extension EventQueue: EventSource {
    func unsettled(of dispatcher: DispatcherNumber) -> Tally { backlog.unsettled(of: dispatcher) }

    func isRoute(_ route: RouteNumber, to dispatcher: DispatcherNumber) -> Bool {
        routes.dispatchers(of: route).contains(dispatcher)
    }

    func hasPassed(_ event: StoredEvent) -> Bool { sweep.hasPassed(event) }

    /// Whether an event is of no more use. Who returns later reads on behind what the sweeper has passed: so that counts
    /// here as well.
    func isTooOld(_ event: StoredEvent) -> Bool { ageLimit.isExceeded(by: event) || hasPassed(event) }
}

extension EventSource {
    /// How many events a dispatcher has not settled.
    func unsettledCount(of dispatcher: DispatcherNumber) -> Int { unsettled(of: dispatcher).events }
}
