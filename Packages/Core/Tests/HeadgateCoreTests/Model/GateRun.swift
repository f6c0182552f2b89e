import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import HeadgateSeeds

/// A random run of a gate and its model.
final class GateRun {
    let profile: ModelProfile
    var random: SeededRandom
    let bench: GateBench
    let model: GateModel
    private var nextId = 0
    private var nextFlush = 0

    init(profile: ModelProfile, seed: Seed) {
        self.profile = profile
        random = SeededRandom(seed: seed)
        bench = GateRun.bench(profile, &random)
        model = GateModel(profile: profile, bench: bench)
        if random.oneIn(2) {
            let size = Int.random(in: 1...5, using: &random)
            for id in ["a", "b"] { model.dispatchers[id]?.batchSize = size }
        }
        furnish()
    }

    private static func bench(_ profile: ModelProfile, _ random: inout SeededRandom) -> GateBench {
        let dispatchers = ["a", "b"].map { id in
            var settings = DispatcherSettings(id: id)
            settings.dispatchLimit = Int.random(in: 1...5, using: &random)
            settings.maxAttempts = Int.random(in: 2...4, using: &random)
            settings.inFlight = id == "b" ? profile.inFlight : 1
            return settings
        }
        var limits = StoreLimits()
        limits.maxEvents = Int.random(in: 8...20, using: &random)
        limits.overflow = profile.dropsOldest ? .dropOldest : .reject
        return GateBench(dispatchers, limits: limits)
    }

    /// Performs `steps` random steps, then lets the gate deliver everything.
    func run(steps: Int) throws {
        for _ in 0..<steps {
            try step()
            model.noteMayBeHeld()
            if !random.oneIn(4) { try inspect() }
        }
        try rest()
    }

    private func inspect() throws {
        // Half of the time the clock stays still, so that the batch delay does not end.
        if random.oneIn(2) { bench.settle() } else { bench.scheduler.settle() }
        model.noteHeld()
        model.checkCounts()
        if let failure = model.failure { throw failure }
    }

    private func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30: track()
        case 30..<60: answer()
        case 60..<72: changeBarrier()
        case 72..<75: moveDoor()
        case 75: changeSettings()
        case 76..<80: pauseOrResume()
        case 80..<86: flush()
        case 86..<88: cancel()
        case 88..<93: advance()
        case 93..<98 where profile.hasFaults: changeHealth()
        case 98...: try restart()
        default: break
        }
    }

    // MARK: Events

    private func track() {
        for _ in 0..<Int.random(in: 1...4, using: &random) { trackOne() }
    }

    private func trackOne() {
        var draft = EventDraft(id: random.oneIn(2) ? "id-\(nextIdOrOld())" : nil)
        draft.dispatchers = [["a"], ["b"], ["a", "b"], nil].randomElement(using: &random) ?? nil
        draft.key = ["x", "y", nil].randomElement(using: &random) ?? nil
        if profile.hasTimeToLive, random.oneIn(3) {
            draft.timeToLive = .milliseconds(Int.random(in: 0...4000, using: &random))
        }
        let expiry = draft.timeToLive.map { bench.scheduler.now.nanoseconds / 1_000_000 + $0.wholeMilliseconds }
        let event = ModelEvent(
            id: draft.id, key: draft.key, targets: Set(draft.dispatchers ?? ["a", "b"]), expiry: expiry)
        check(bench.track(draft), of: event)
    }

    private func nextIdOrOld() -> Int {
        guard nextId == 0 || !random.oneIn(4) else { return Int.random(in: 0..<nextId, using: &random) }
        nextId += 1
        return nextId - 1
    }

    private func check(_ admission: Admission?, of event: ModelEvent) {
        switch admission {
        case .duplicate(let number): model.expect(event.id.flatMap { model.numbers[$0] } == number, "a false duplicate")
        case .queueFull: checkFull()
        case .stored(let number):
            checkRoom()
            if let id = event.id {
                model.expect(model.numbers[id] == nil, "\(id) is stored twice")
                model.numbers[id] = number
            }
            model.offered[number] = event
            bench.gate.events.whenCommitted { [weak model] in model?.answered(number, event, $0) }
        default: model.expect(false, "\(String(describing: admission))")
        }
    }

    private func checkFull() {
        model.expect(!profile.dropsOldest, "refused as full despite drop_oldest")
        guard profile.isOrderly else { return }
        model.expect(model.liveEvents + model.offered.count >= bench.limits.maxEvents, "refused as full with room left")
    }

    private func checkRoom() {
        guard profile.isOrderly else { return }
        model.expect(model.liveEvents + model.offered.count < bench.limits.maxEvents, "stored over the limit")
    }

    private func answer() {
        guard let id = ["a", "b"].randomElement(using: &random),
            let batch = bench[id].outstanding.randomElement(using: &random)
        else { return }
        var results: [SendResult] = [
            .delivered, .delivered, .delivered, .status(503), .status(400), .status(413), .noAnswer(cause: "reset"),
            .returned(cause: "nobody"), .lost(cause: "went away"), .lost(cause: "went away"), .status(500),
        ]
        if profile.distinguishesEvents { results.append(.each(batch.events.map { _ in outcome() })) }
        answer(batch, of: id, results.randomElement(using: &random) ?? .delivered)
    }

    private func outcome() -> EventOutcome {
        let outcomes: [EventOutcome] = [
            .delivered, .delivered, .retry(cause: "busy", charged: true), .retry(cause: "reset", charged: false),
            .dead(.refused, cause: "never"),
        ]
        return outcomes.randomElement(using: &random) ?? .delivered
    }

    private func answer(_ batch: Batch, of id: String, _ result: SendResult) {
        let numbers = batch.events.map(\.sequenceNumber)
        bench.chance = [0, 0.5, 1].randomElement(using: &random) ?? 1
        model.dispatchers[id]?.answered(numbers, result, at: bench.scheduler.now, chance: bench.chance)
        bench[id].answer(result, to: batch.number)
    }

    // MARK: Flushes

    private func flush() {
        let ids = [["a"], ["b"], ["a", "b"]].randomElement(using: &random) ?? []
        begin(ids, timeout: random.oneIn(2) ? nil : .seconds(Int.random(in: 1...20, using: &random)))
    }

    private func begin(_ ids: [String], timeout: Duration?) {
        let name = "f\(nextFlush)"
        nextFlush += 1
        let covered = ids.map { id in
            let summary = bench.summary(of: id)
            let offered = model.offered.values.count { $0.targets.contains(id) }
            return (id, summary.pending + summary.inFlight + offered)
        }
        model.flushes[name] = ModelFlush(
            target: bench.gate.events.lastSequenceNumber, covered: Dictionary(uniqueKeysWithValues: covered),
            isExact: !profile.hasFaults || model.offered.isEmpty)
        _ = bench.gate.flush(id: name, dispatchers: ids, timeout: timeout) { [weak model] in model?.ended(name, $0) }
    }

    private func cancel() {
        guard let name = model.flushes.keys.sorted().randomElement(using: &random) else { return }
        model.expect(bench.gate.flushes.cancel(name), "flush \(name) is unknown")
        model.expect(model.flushes[name] == nil, "flush \(name) continues after it was cancelled")
    }

    // MARK: Time, faults, restarts

    private func advance() {
        let milliseconds = random.oneIn(5) ? 400_000 : Int.random(in: 1...3000, using: &random)
        bench.advance(by: .milliseconds(milliseconds))
        if bench.store.memory.fault == nil { model.isWrittenDown = milliseconds >= 1000 || model.isWrittenDown }
    }

    private func changeHealth() {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bench.store.holdsAppends = true
        case 1:
            bench.store.memory.fault = .noRoom("full")
            model.isWrittenDown = false
        default: heal()
        }
    }

    private func heal() {
        bench.store.memory.fault = nil
        bench.store.holdsAppends = false
    }

    private func restart() throws {
        if random.oneIn(2) { bench.settle() } else { model.isWrittenDown = false }
        heal()
        model.restarted(over: try bench.store.open())
        try bench.restart { _ in self.furnish() }
        model.isWrittenDown = true
    }

    /// Opens all barriers, makes the destinations succeed, and advances the clock. The gate must then be empty.
    private func rest() throws {
        heal()
        for door in model.doors.indices {
            for id in ["a", "b"] { set(door, .open, id) }
        }
        for id in ["a", "b"] {
            model.dispatchers[id]?.isPaused = false
            _ = bench.gate.resume(id) { _ in }
        }
        try inspect()
        begin(["a", "b"], timeout: nil)
        for _ in 0..<1000 where bench.gate.stored != .zero || !model.flushes.isEmpty {
            for id in ["a", "b"] {
                for batch in bench[id].outstanding { answer(batch, of: id, .delivered) }
            }
            bench.advance(by: .seconds(10))
            try inspect()
        }
        model.checkQuiescence()
        if let failure = model.failure { throw failure }
    }
}

/// Changes of barriers, applied to both the gate and the model.
extension GateRun {
    func changeBarrier() {
        let index = model.doors.indices.randomElement(using: &random) ?? 0
        if random.oneIn(4) { return setFlushable(index, random.oneIn(2)) }
        let state: BarrierState = random.oneIn(2) ? .open : .closed
        for id in random.oneIn(2) ? ["a", "b"] : [random.oneIn(2) ? "a" : "b"] { set(index, state, id) }
    }

    func set(_ door: Int, _ state: BarrierState, _ id: String) {
        model.doors[door].states[id] = state
        model.doors[door].barrier.set(state, for: id)
    }

    func setFlushable(_ door: Int, _ isFlushable: Bool) {
        model.doors[door].isFlushable = isFlushable
        model.doors[door].barrier.setFlushable(isFlushable)
    }

    /// Registers a barrier, changes its scopes, or unregisters it.
    func moveDoor() {
        let index = model.doors.indices.randomElement(using: &random) ?? 0
        let door = model.doors[index]
        guard !random.oneIn(3) else {
            model.doors[index].scopes = []
            return bench.gate.unregisterScopedBarrier(door.barrier)
        }
        let choices: [[BarrierScope]] = [[.all], [.dispatcher(id: "a")], [.dispatcher(id: "b")], []]
        let scopes = choices.randomElement(using: &random) ?? []
        model.doors[index].scopes = Set(["a", "b"].filter(scopes.cover))
        bench.gate.registerScopedBarrier(door.barrier, id: door.id, scopes: scopes)
    }

    func pauseOrResume() {
        let id = random.oneIn(2) ? "a" : "b"
        let isPaused = random.oneIn(2)
        let isFlushable = random.oneIn(2)
        model.dispatchers[id]?.isPaused = isPaused
        model.dispatchers[id]?.isPauseFlushable = isFlushable
        guard isPaused else {
            _ = bench.gate.resume(id) { _ in }
            return
        }
        _ = bench.gate.pause(id, reason: nil, isFlushable: isFlushable) { _ in }
    }

    /// Changes the batch size of the BatchingBarrier, if there is one (Behaviour B7).
    func changeSettings() {
        guard model.dispatchers["a"]?.batchSize != nil else { return }
        let size = Int.random(in: 1...5, using: &random)
        for id in ["a", "b"] { model.dispatchers[id]?.batchSize = size }
        do {
            try bench.gate.barriers.update(
                id: "batching", scopes: [.all], configuration: ["batch_size": .number(DataNumber(size))])
        } catch {
            model.expect(false, "\(error)")
        }
    }

    /// Registers the barriers of the run with a new gate, and observes its senders.
    func furnish() {
        for id in ["a", "b"] {
            bench[id].reply = { [weak model] in
                model?.sent($0, to: id)
                return nil
            }
        }
        for door in model.doors where !door.scopes.isEmpty {
            bench.gate.registerScopedBarrier(
                door.barrier, id: door.id, scopes: door.scopes.sorted().map { .dispatcher(id: $0) })
        }
        guard let size = model.dispatchers["a"]?.batchSize else { return }
        let configuration: DataObject = ["batch_size": .number(DataNumber(size))]
        do {
            try bench.gate.barriers.configure(
                id: "batching", kind: "BatchingBarrier", scopes: [.all], configuration: configuration)
        } catch {
            model.expect(false, "\(error)")
        }
    }
}
