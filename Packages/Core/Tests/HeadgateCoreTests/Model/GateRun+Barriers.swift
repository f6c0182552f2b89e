import HeadgateCore
import HeadgateCoreTesting
import HeadgateData

/// What a run does with barriers, to the gate and to the model alike.
extension GateRun {
    func turnDoor() {
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

    /// Registers a door, with other scopes if it is there, or takes it away.
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

    /// Tells the BatchingBarrier, if there is one, another size while it runs (Behaviour B7).
    func changeSettings() {
        guard model.dispatchers["a"]?.batchSize != nil else { return }
        let size = Int.random(in: 1...5, using: &random)
        for id in ["a", "b"] { model.dispatchers[id]?.batchSize = size }
        do {
            try bench.gate.updateBarrier(
                id: "batching", scopes: [.all], configuration: ["batch_size": .number(DataNumber(size))])
        } catch {
            model.expect(false, "\(error)")
        }
    }

    /// Puts the barriers of the run before a gate that is new, and watches its senders.
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
            try bench.gate.addBarrier(
                id: "batching", kind: "BatchingBarrier", scopes: [.all], configuration: configuration)
        } catch {
            model.expect(false, "\(error)")
        }
    }
}
