import HeadgateData

/// The queue of accepted events, shared by all dispatchers. It assigns sequence numbers, collects events into commit
/// groups (Behaviour Q5), and counts stored and unsettled events.
///
/// The events of one turn form a group, which goes to the store at the end of the turn, after the groups that are
/// already committing. The store commits waiting groups together. With many groups committing, the next group collects
/// events over several turns.
///
/// Members that every event reads are exempt from run-time exclusivity checks, which took a fifteenth of the loop's
/// time. The exemption is safe because no function that is called with such a member calls back into the queue.
public final class EventQueue {
    let scheduler: any Scheduler
    @exclusivity(unchecked) private var clock: QueueClock
    @exclusivity(unchecked) private(set) var limits: StoreLimits
    /// The size up to which any sender may fill the store, by ``limits``. The room above it is shared fairly.
    @exclusivity(unchecked) private var unshared: Tally
    /// The maximum age of events by ``limits``, in milliseconds.
    @exclusivity(unchecked) private(set) var maxAge: Int64
    public let store: any EventStore
    @exclusivity(unchecked) var routes = RouteTable()
    @exclusivity(unchecked) var backlog = Backlog()
    /// State that the store must save with the next group at the latest.
    @exclusivity(unchecked) var initialState = InitialState()
    /// The progress of the sweeper.
    @exclusivity(unchecked) var sweep = Sweep()
    private let bounds: GroupBounds
    /// The group that collects new events.
    @exclusivity(unchecked) private var gathering = OpenGroup()
    /// The number of the group that collects new events. Events that arrive after a commit has begun belong to the next
    /// group, and must not be acknowledged with that commit (Behaviour P1).
    public var gatheringGroup: Int { groupNumber }
    @exclusivity(unchecked) private var groupNumber = 0
    @exclusivity(unchecked) private var committing = PendingCommits()
    @exclusivity(unchecked) private var dedupe: Deduplication
    /// The use of the store by each sender (Behaviour Q4).
    @exclusivity(unchecked) private var shares: StoreShares
    /// The store's own id.
    let identity: StoreIdentity
    @exclusivity(unchecked) private var recent: RecentChunks
    @exclusivity(unchecked) private var isCommitDue = false
    /// Senders that wait until the gathering group has room.
    private var senders = RoomWaiters()
    private var isCallingSenders = false
    /// Time between the arrival of stored events and their acknowledgement (Behaviour O1).
    @exclusivity(unchecked) public private(set) var acknowledging = Histogram(.seconds)
    @exclusivity(unchecked) public private(set) var lastSequenceNumber: SequenceNumber = 0
    /// The sequence number of the newest stored event.
    @exclusivity(unchecked) private(set) var lastStored: SequenceNumber = 0
    /// The fault for which the store refused the newest group; nil if it stored that group (`status`, `warnings`).
    @exclusivity(unchecked) private(set) var lastFault: StoreFault?
    /// The gate, which is notified of each stored group.
    @exclusivity(unchecked) weak var host: (any GateHost)?
    /// The completion handler for appends, created once instead of once per group.
    @exclusivity(unchecked) private var whenAppended: (StoreFault?) -> Void = { _ in }
    /// The trace of recent events; nil if it is off.
    private let trace: EventTrace?

    static let recentBytes = 2 << 20

    public init(
        scheduler: any Scheduler, store: any EventStore, limits: StoreLimits, state: consuming StoredState,
        bounds: GroupBounds = GroupBounds(), trace: EventTrace? = nil, builtAt: Timestamp = .unknownBuild
    ) {
        self.scheduler = scheduler
        self.bounds = bounds
        self.trace = trace
        self.store = store
        (self.limits, maxAge, unshared) = (limits, limits.maxAge.wholeMilliseconds, limits.unshared)
        shares = StoreShares(after: state.lastSequenceNumber)
        clock = QueueClock(
            scheduler, kept: state.kept[ClockPair.name].flatMap { ClockPair(kept: $0) }, newest: state.newestStamp,
            builtAt: builtAt)
        dedupe = Deduplication(limits, kept: state.kept[DedupeKey.name])
        if state.kept[DedupeKey.name] != dedupe.key.kept { initialState.kept[DedupeKey.name] = dedupe.key.kept }
        identity = state.kept[StoreIdentity.name].flatMap { StoreIdentity(kept: $0) } ?? StoreIdentity()
        if state.kept[StoreIdentity.name] != identity.kept { initialState.kept[StoreIdentity.name] = identity.kept }
        routes = RouteTable(saved: state.routes)
        lastSequenceNumber = state.lastSequenceNumber
        lastStored = state.lastSequenceNumber
        recent = RecentChunks(mostBytes: EventQueue.recentBytes, lastSequenceNumber: state.lastSequenceNumber)
        whenAppended = { [weak self] in self?.committed($0) }
        restore(state.unsettled)
        let recentIDs = state.recentIDs
        state.recentIDs = []
        dedupe.restore(consume recentIDs)
    }

    /// Applies new limits.
    func setLimits(_ new: StoreLimits) {
        (limits, maxAge, unshared) = (new, new.maxAge.wholeMilliseconds, new.unshared)
        dedupe.setLimits(limits)
    }

    private func restore(_ unsettled: [DispatcherNumber: RouteTallies]) {
        for (dispatcher, tallies) in unsettled {
            for (route, tally) in tallies { backlog.add(tally, route: route, dispatchers: [dispatcher]) }
        }
    }

    // MARK: Time

    /// The scale on which ages are measured.
    var ages: AgeScale { clock.ages }

    /// Returns the present time on the age scale.
    func presentStamp() -> Int64 { clock.present(scheduler).stamp }

    /// Returns the present on the age scale together with all clocks, for saving.
    func clockPair() -> ClockPair { clock.pair(scheduler.clocks) }

    /// The reason why the wall clock counts as not set, or nil if it counts as set (Behaviour P7).
    var wallFault: WallTrust.Fault? { clock.fault(of: scheduler.wall) }

    /// Returns the time of receipt of this turn's events. The clocks are read once per turn.
    private func receipt() -> QueueClock.Receipt {
        if let arrival = clock.arrival { return arrival }
        let receipt = clock.receive(scheduler)
        shares.advance(to: receipt.now, last: lastSequenceNumber)
        atEndOfTurn()
        return receipt
    }

    /// The wall-clock time of receipt of this turn's events.
    public var receivedAt: Timestamp { receipt().wall }

    // MARK: Accepting

    /// True if the gathering group has no room. Senders should wait for ``whenRoom(_:)``.
    public var isGroupFull: Bool {
        gathering.byteCount >= bounds.veryMuch
            && !committing.hasRoom(for: gathering.byteCount, most: bounds.mostCommitting)
    }

    /// Assigns a sequence number to an event, or returns the reason for not storing it. Events of one turn are
    /// committed together, unless they are large.
    public func admit(_ event: TrackedEvent) -> Admission {
        commitMuch()
        let now = receipt()
        let fingerprint = event.identity.map(dedupe.key.fingerprint)
        if let fingerprint, let first = dedupe.find(fingerprint, at: now.stamp) { return .duplicate(first) }
        guard event.route != RouteTable.noDispatcher else { return .unrouted }
        let byteCount = event.storedByteCount(lastSequenceNumber + 1)
        switch refusal(of: Tally(events: 1, bytes: byteCount), from: event.sender) {
        case .queueFull: return .queueFull
        case .tooLarge: return .tooLarge
        case nil: return .stored(gather(event, byteCount, fingerprint, at: now))
        }
    }

    /// Assigns sequence numbers to a list of events as a whole. If there is no room for its new events, none is
    /// accepted.
    /// - Parameter events: the events, all of one sender.
    /// - Returns: the admissions in the order of the events.
    public func admit(all events: [TrackedEvent]) throws(AdmissionRefusal) -> [Admission] {
        commitMuch()
        let now = receipt()
        var plan = AdmissionPlan(after: lastSequenceNumber)
        for event in events {
            let fingerprint = event.identity.map(dedupe.key.fingerprint)
            plan.add(event, fingerprint, remembered: fingerprint.flatMap { dedupe.find($0, at: now.stamp) })
        }
        if let refusal = refusal(of: plan.new, from: events.first?.sender ?? 0) { throw refusal }
        for (event, entry) in zip(events, plan.entries) {
            guard case .stored(let number) = entry.admission else { continue }
            gather(event, event.storedByteCount(number), entry.fingerprint, at: now)
        }
        return plan.entries.map(\.admission)
    }

    /// Adds an event to the gathering group.
    /// - Parameter byteCount: the stored size of the event under its sequence number.
    @discardableResult
    private func gather(
        _ event: TrackedEvent, _ byteCount: Int, _ fingerprint: DedupeWindow.Fingerprint?, at now: QueueClock.Receipt
    ) -> SequenceNumber {
        lastSequenceNumber += 1
        gathering.append(
            event, byteCount, known: fingerprint, sequenceNumber: lastSequenceNumber, receivedAt: now.wall,
            receivedStamp: now.stamp)
        trace?.accepted(event, lastSequenceNumber, receivedAt: now.wall, in: &gathering.traced)
        gathering.arrivals.note(at: now.now)
        shares.add(byteCount, to: event.sender)
        if let fingerprint { dedupe.insert(fingerprint, sequenceNumber: lastSequenceNumber, stamp: now.stamp) }
        atEndOfTurn()
        return lastSequenceNumber
    }

    /// Adds the event of a dead letter to the end of the queue, for the dispatcher of the dead letter only. The dead
    /// letter is removed in the same commit. The event's id is not deduplicated, because it may still be in the window
    /// (Behaviour Q7).
    ///
    /// The store must have room, also with `drop_oldest`: no event is evicted for a dead letter.
    func readmit(_ event: StoredEvent, of stored: StoredDeadLetter, namespace: InternedTexts.Number = 0)
        -> Admission
    {
        let digits = (lastSequenceNumber + 1).digitCount - event.sequenceNumber.digitCount
        let tally = Tally(events: 1, bytes: event.byteCount + digits)
        guard !limits.excess(of: held + tally) else { return .queueFull }
        lastSequenceNumber += 1
        gathering.append(
            event, of: stored.number, sequenceNumber: lastSequenceNumber,
            route: routes.number(of: [stored.deadLetter.dispatcher]), receivedStamp: receipt().stamp)
        trace?.readmitted(
            event, lastSequenceNumber, route: routes.number(of: [stored.deadLetter.dispatcher]), namespace: namespace,
            in: &gathering.traced)
        atEndOfTurn()
        return .stored(lastSequenceNumber)
    }

    /// Returns the reason for refusing new events, or nil if they are accepted. An empty addition is always accepted.
    @inline(__always)
    private func refusal(of new: Tally, from sender: StoreShares.Number) -> AdmissionRefusal? {
        if new.bytes > limits.maxBytes { return .tooLarge }
        guard limits.overflow == .reject, new.events > 0 else { return nil }
        let held = held
        let size = held + new
        if size.events <= unshared.events, size.bytes <= unshared.bytes { return nil }
        // A single large event may need more than a share. It is accepted while the store is empty.
        if held == .zero { return limits.excess(of: size) ? .queueFull : nil }
        return shares.allows(size, to: sender, within: limits) ? nil : .queueFull
    }

    // MARK: Senders

    /// Opens the account of a user's namespace for a session. The session's events must name the account
    /// (``TrackedEvent/sender``), and the session must close it.
    public func openAccount(uid: UInt32, namespace: String) -> StoreShares.Number {
        shares.open(uid: uid, namespace: namespace)
    }

    public func closeAccount(_ number: StoreShares.Number) { shares.close(number) }

    /// The senders of pending events and of the last minute's events, those with most pending events first.
    public var storeUses: [StoreShares.Sender] {
        shares.advance(to: scheduler.now, last: lastSequenceNumber)
        return shares.senders(through: lastSequenceNumber, live: held)
    }

    /// The use of the store by each user, in the order of user IDs.
    public var userUses: [StoreShares.UserUse] {
        shares.userUses(through: lastSequenceNumber, live: held)
    }

    /// The number and size of stored events and of events that are about to be stored.
    var held: Tally {
        backlog.live + gathering.tally + committing.tally
    }

    /// The change by which the store applies the limits of retained events at the present time. Nil if nothing is to be
    /// retained, or the store cannot retain events (Behaviour R1).
    var retentionChange: StoreChange? {
        guard store.canRewind, let retain = limits.retain else { return nil }
        return .retain(retain.retention(at: presentStamp()))
    }

    /// Returns the number of events for a dispatcher that are accepted and not yet stored.
    func offered(to dispatcher: DispatcherNumber) -> Int {
        offered.reduce(0) { sum, offered in
            routes.dispatchers(of: offered.route).contains(dispatcher) ? sum + offered.tally.events : sum
        }
    }

    /// The accepted events that are not yet stored, by route.
    private var offered: [(route: RouteNumber, tally: Tally)] {
        Array(gathering.tallies) + committing.tallies
    }

    /// Forgets unused routes if there are many. A route is unused if all its events are settled; settled events may
    /// still be in the store.
    /// - Parameter kept: a route to keep.
    /// - Returns: the forgotten routes, which the store may forget as well.
    func forgetUnusedRoutes(except kept: RouteNumber) -> [RouteNumber] {
        // The store needs the routes of retained events for rewinds. They are forgotten only if there is no other way.
        guard limits.retain == nil ? routes.needsSweep : routes.isFull else { return [] }
        let used = Set(backlog.routes).union(offered.map(\.route)).union([kept])
        return routes.forget(unless: used.contains)
    }

    /// Calls `work` with nil once all events accepted so far are stored, or with a fault if they could not be stored.
    public func whenCommitted(_ work: @escaping (StoreFault?) -> Void) {
        gathering.waiters.append(StoreWaiter(notify: work))
        atEndOfTurn()
    }

    /// Calls `work` at the end of a turn in which the gathering group has room. Senders are called in the order of
    /// their calls, one after another while there is room.
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
        clock.turnEnded()
        commit()
        callSenders()
    }

    /// Commits a large group before the turn ends, so that an idle store can begin while the rest of the turn's events
    /// arrive.
    private func commitMuch() {
        let most = committing.isEmpty ? bounds.much : bounds.veryMuch
        if gathering.byteCount >= most { commit() }
    }

    private func commit() {
        guard !gathering.isIdle, committing.hasRoom(for: gathering.byteCount, most: bounds.mostCommitting)
        else { return }
        let waiters = endGathering()
        guard let chunk = gathering.takeChunk() else {
            return committing.isEmpty ? waiters.notify(nil) : committing.add(waiters)
        }
        let group = gathering.group(
            chunk, behind: committing.newest ?? lastStored, newRoutes: routes.takeUnsaved(),
            initialState: initialState, forgottenIDs: dedupe.takeNewlyForgotten())
        committing.add(
            PendingCommit(group: group, waiters: waiters, arrivals: gathering.arrivals, traced: gathering.traced))
        gathering.beginNext()
        store.append(group, then: whenAppended)
    }

    private func committed(_ fault: StoreFault?) {
        guard let group = committing.takeOldest() else { return }
        lastFault = group.fault ?? fault
        if let fault { fail(group, fault) } else { succeed(group) }
        // Events gathered in this turn are committed at its end.
        if !isCommitDue { commit() }
        callSenders()
    }

    private func succeed(_ group: PendingCommit) {
        let previous = lastStored
        lastStored = group.group.chunk.lastSequenceNumber
        if !group.group.initialState.isEmpty { initialState.saved(group.group.initialState) }
        recent.append(group.group.chunk)
        trace?.stored(group.traced)
        for (route, tally) in group.group.tallies {
            backlog.add(tally, route: route, dispatchers: routes.dispatchers(of: route))
        }
        host?.stored(group.group.tallies, behind: previous)
        group.arrivals.acknowledged(at: scheduler.now, in: &acknowledging)
        group.waiters.notify(nil)
    }

    /// Fails a group, and with it all later groups and the gathering group, which may contain duplicates of its events.
    private func fail(_ group: PendingCommit, _ fault: StoreFault) {
        if let earlier = group.fault { return group.waiters.notify(earlier) }
        routes.restoreUnsaved(group.group.newRoutes)
        routes.restoreUnsaved(committing.markFailed(fault))
        if let first = group.group.chunk.first(where: { _ in true }) { dedupe.forget(from: first.sequenceNumber) }
        let late = endGathering()
        gathering = OpenGroup()
        if committing.isEmpty { return (group.waiters + late).notify(fault) }
        committing.add(late)
        group.waiters.notify(fault)
    }

    /// Closes the gathering group for new waiters: later ones wait for the next group.
    private func endGathering() -> [StoreWaiter] {
        groupNumber += 1
        return gathering.takeWaiters()
    }

    /// Drops all waiters without notifying them. They hold references to a daemon that is gone while the process
    /// of an embedding program continues.
    func forgetWaiters() {
        (committing, gathering, senders) = (PendingCommits(), OpenGroup(), RoomWaiters())
    }

    // MARK: Reading

    /// Returns the chunk with the events after `sequenceNumber`, or nil if it is not in memory.
    func recentChunk(after sequenceNumber: SequenceNumber) -> Chunk? {
        recent.chunk(after: sequenceNumber)
    }

    /// Drops events from memory that every dispatcher has settled.
    func trimRecent(through sequenceNumber: SequenceNumber) {
        recent.trim(through: sequenceNumber)
        shares.settle(through: sequenceNumber)
    }

    /// Drops all events from memory, because the store may no longer have some of them.
    func forgetRecent() {
        recent = RecentChunks(mostBytes: EventQueue.recentBytes, lastSequenceNumber: lastStored)
    }

    // MARK: Ages

    /// The age limit at the present time (Behaviour Q4).
    var ageLimit: AgeLimit {
        let now = presentStamp()
        return AgeLimit(receivedBy: now - maxAge, endedBy: now)
    }

    // MARK: Remembering ids

    /// The key for hashing ids.
    var dedupeKey: DedupeKey { dedupe.key }

    /// The number of remembered ids, and the wall-clock time of the oldest (Behaviour Q7).
    public var remembered: (ids: Int, since: Timestamp?) {
        let now = presentStamp()
        let (ids, since) = dedupe.remembered(at: now)
        return (ids, since.map { Timestamp(milliseconds: scheduler.wall.milliseconds - (now - $0)) })
    }

    /// Returns the sequence number of the event with an id, or nil if the dedupe window does not contain the id
    /// (Behaviour Q7).
    func firstEvent(of id: String, in namespace: String) -> SequenceNumber? {
        dedupe.find(dedupe.key.fingerprint(of: id, in: namespace), at: presentStamp())
    }

    /// Drops ids outside the dedupe window, a limited number per call.
    /// - Returns: the change for the store, which may forget them as well.
    func forgetOldIDs() -> StoreChange { .forgetIDs(through: dedupe.forgetOld(at: presentStamp())) }
}

extension EventQueue: EventSource {
    func unsettled(of dispatcher: DispatcherNumber) -> Tally { backlog.unsettled(of: dispatcher) }

    func isRoute(_ route: RouteNumber, to dispatcher: DispatcherNumber) -> Bool {
        routes.dispatchers(of: route).contains(dispatcher)
    }

    func hasPassed(_ event: StoredEvent) -> Bool { sweep.hasPassed(event) }

    /// Returns true if an event is too old or was passed by the sweeper. A dispatcher that is added again later
    /// continues to read after the sweeper's position, so passed events count as too old for it as well.
    func isTooOld(_ event: StoredEvent) -> Bool { ageLimit.isExceeded(by: event) || hasPassed(event) }
}
