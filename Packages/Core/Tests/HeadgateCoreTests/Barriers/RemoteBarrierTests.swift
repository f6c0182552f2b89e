import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Barriers of clients")
struct RemoteBarrierTests {
    let bench = GateBench([DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")])
    let shop = RemoteBarrierOwner(number: 1, name: "shop")
    let till = RemoteBarrierOwner(number: 2, name: "till")
    var barriers: RemoteBarriers { bench.gate.remoteBarriers }

    private func states(_ id: String = "door") -> [String: BarrierState]? {
        bench.barrier(id).map {
            Dictionary(uniqueKeysWithValues: $0.states.map { ($0.dispatcher, $0.state ?? .closed) })
        }
    }

    @Test("B29: a client's barrier blocks the dispatchers in its scopes until its owner opens it")
    func holds() throws {
        let scopes = [BarrierScope.dispatcher(id: "collect")]
        try barriers.register("door", RemoteBarrierRegistration(scopes: scopes, state: .closed), by: shop)
        bench.track(2)
        #expect(bench["collect"].sent.isEmpty)
        #expect(bench["archive"].sent == [[1, 2]])
        try barriers.set("door", RemoteBarrierChange(state: .open), by: shop)
        bench.settle()
        #expect(bench["collect"].sent == [[1, 2]])
    }

    @Test("B29: a state for one dispatcher is in force until a state for all replaces it")
    func stateForOne() throws {
        try barriers.register("door", RemoteBarrierRegistration(state: .closed), by: shop)
        try barriers.set("door", RemoteBarrierChange(state: .open, dispatcher: "collect"), by: shop)
        #expect(states() == ["archive": .closed, "collect": .open])
        try barriers.set("door", RemoteBarrierChange(reason: "closed for all"), by: shop)
        #expect(states() == ["archive": .closed, "collect": .open])
        try barriers.set("door", RemoteBarrierChange(state: .closed), by: shop)
        #expect(states() == ["archive": .closed, "collect": .closed])
    }

    @Test("B2: a change of flushability affects a running flush")
    func flushability() throws {
        try barriers.register("door", RemoteBarrierRegistration(state: .closed, isFlushable: false), by: shop)
        bench.track(1)
        _ = bench.gate.flush(timeout: nil) { _ in }
        bench.settle()
        #expect(bench["collect"].sent.isEmpty)
        try barriers.set("door", RemoteBarrierChange(isFlushable: true), by: shop)
        bench.settle()
        #expect(bench["collect"].sent == [[1]])
    }

    @Test("B4: a scope with a missing dispatcher is kept, and applies when the dispatcher appears")
    func idleScope() throws {
        let scopes = [BarrierScope.dispatcher(id: "later")]
        try barriers.register("door", RemoteBarrierRegistration(scopes: scopes, state: .closed), by: shop)
        #expect(barriers.idleScopes.map(\.dispatcher) == ["later"])
        #expect(throws: RemoteBarrierRefusal.unknownDispatcher("later")) {
            try barriers.set("door", RemoteBarrierChange(state: .open, dispatcher: "later"), by: shop)
        }
        bench.add(DispatcherSettings(id: "later"))
        #expect(barriers.idleScopes.isEmpty)
        #expect(bench.summary(of: "later").blockedBy == ["door"])
    }

    @Test("B29: only its owner may change a barrier")
    func owners() throws {
        try barriers.register("door", RemoteBarrierRegistration(state: .closed), by: shop)
        let refusal = RemoteBarrierRefusal.belongs(to: "shop")
        #expect(throws: refusal) { try barriers.register("door", RemoteBarrierRegistration(state: .open), by: till) }
        #expect(throws: refusal) { try barriers.set("door", RemoteBarrierChange(state: .open), by: till) }
        #expect(throws: refusal) { try barriers.unregister("door", by: till, force: false) }
        #expect(states()?["collect"] == .closed)
        try barriers.unregister("door", by: till, force: true)
        #expect(bench.barrier("door") == nil)
        #expect(throws: RemoteBarrierRefusal.unknown) { try barriers.unregister("door", by: shop, force: false) }
    }

    @Test(
        "B29: a disconnect affects all barriers of that owner, and no others",
        arguments: [
            (RemoteBarrierRegistration.OnDisconnect.unregister, nil), (.open, BarrierState.open), (.close, .closed),
            (.keep, .open),
        ])
    func ownerLeft(_ onDisconnect: RemoteBarrierRegistration.OnDisconnect, _ after: BarrierState?) throws {
        for id in ["door", "gate"] {
            try barriers.register(id, RemoteBarrierRegistration(state: .open, onDisconnect: onDisconnect), by: shop)
        }
        try barriers.register("till", RemoteBarrierRegistration(state: .closed), by: till)
        barriers.ownerLeft(1)
        for id in ["door", "gate"] {
            #expect(states(id)?["collect"] == after)
            #expect(bench.barrier(id)?.identity.owner == nil)
            #expect(bench.barrier(id)?.reason == after.map { _ in "its owner shop has disconnected" })
        }
        #expect(bench.barrier("till")?.identity.owner == "till")
    }

    @Test("B29: a barrier without an owner belongs to the next client that registers it")
    func takeover() throws {
        try barriers.register("door", RemoteBarrierRegistration(state: .open, onDisconnect: .close), by: shop)
        barriers.ownerLeft(1)
        #expect(throws: RemoteBarrierRefusal.ownerless) {
            try barriers.set("door", RemoteBarrierChange(state: .open), by: shop)
        }
        try barriers.register("door", RemoteBarrierRegistration(state: .open), by: till)
        #expect(bench.barrier("door")?.identity.owner == "till")
        #expect(bench.barrier("door")?.reason == nil)
        barriers.ownerLeft(1)
        #expect(states()?["collect"] == .open)
    }

    @Test("B29: after a repeated registration only the last on_disconnect applies")
    func registeredAgain() throws {
        try barriers.register("door", RemoteBarrierRegistration(state: .closed, onDisconnect: .keep), by: shop)
        try barriers.register("door", RemoteBarrierRegistration(state: .closed), by: shop)
        barriers.ownerLeft(1)
        #expect(bench.barrier("door") == nil)
    }

    @Test("B29: a kept barrier keeps its owner's reason, and one closed or opened on disconnect has no exceptions")
    func leftBehind() throws {
        for onDisconnect in [RemoteBarrierRegistration.OnDisconnect.keep, .close] {
            let registration = RemoteBarrierRegistration(state: .closed, onDisconnect: onDisconnect)
            try barriers.register("door", registration, by: shop)
            try barriers.set("door", RemoteBarrierChange(state: .closed, reason: "counting"), by: shop)
            try barriers.set("door", RemoteBarrierChange(state: .open, dispatcher: "collect"), by: shop)
            barriers.ownerLeft(1)
            let isKept = onDisconnect == .keep
            #expect(states() == ["archive": .closed, "collect": isKept ? .open : .closed])
            #expect(bench.barrier("door")?.reason == (isKept ? "counting" : "its owner shop has disconnected"))
        }
    }

    @Test("B29, X2: the number of barriers is limited, existing ones may register again, and a removed one makes room")
    func most() throws {
        let registration = RemoteBarrierRegistration(scopes: [], state: .open)
        for number in 1...RemoteBarriers.most { try barriers.register("door-\(number)", registration, by: shop) }
        #expect(throws: RemoteBarrierRefusal.tooMany(most: RemoteBarriers.most)) {
            try barriers.register("another", registration, by: till)
        }
        try barriers.register("door-1", registration, by: shop)
        try barriers.unregister("door-2", by: shop, force: false)
        try barriers.register("another", registration, by: till)
    }

    @Test("B29: clients cannot take the service's own barriers or reserved names")
    func servicesOwn() throws {
        bench.gate.registerScopedBarrier(SwitchBarrier(.open), id: "program", scopes: [.all])
        for id in [
            "program", "ManualBarrier:collect", "BackoffBarrier:later", "ActivationGate:x", "WorkerBarrier:mail",
            "BatchingBarrier",
        ] {
            #expect(throws: RemoteBarrierRefusal.notRemote, "\(id)") {
                try barriers.register(id, RemoteBarrierRegistration(state: .open), by: shop)
            }
        }
        for id in ["program", "ManualBarrier:collect"] {
            #expect(throws: RemoteBarrierRefusal.notRemote, "\(id)") {
                try barriers.unregister(id, by: shop, force: true)
            }
        }
        try barriers.register("ManualBarriers", RemoteBarrierRegistration(state: .open), by: shop)
    }

    @Test("B10: watchers are notified of changes of dispatchers and barriers, combined per turn")
    func reported() throws {
        var changes: [GateChange] = []
        let watching = bench.gate.changes.subscribe { changes.append($0) }
        try barriers.register("door", RemoteBarrierRegistration(scopes: [], state: .closed), by: shop)
        #expect(changes == [.barriers])
        changes = []
        try barriers.register("door", RemoteBarrierRegistration(state: .closed), by: shop)
        #expect(changes.contains(.blockedState) && changes.contains(.barriers))
        bench.settle()
        changes = []
        try barriers.set("door", RemoteBarrierChange(reason: "why"), by: shop)
        #expect(changes.contains(.barriers))
        changes = []
        bench.track(1)
        #expect(changes.contains(.progress))
        watching.dispose()
        changes = []
        try barriers.set("door", RemoteBarrierChange(state: .open), by: shop)
        bench.settle()
        #expect(bench["collect"].sent == [[1]])
        #expect(changes.isEmpty && !bench.gate.isWatched)
    }

    @Test("B10: changes of a barrier are reported even if they affect no dispatcher")
    func notifiedWithoutDispatcher() {
        let idle = SwitchBarrier(.closed)
        bench.gate.registerScopedBarrier(idle, id: "idle", scopes: [])
        bench.settle()
        var changes: [GateChange] = []
        let watching = bench.gate.changes.subscribe { changes.append($0) }
        idle.setFlushable(false)
        #expect(bench.barrier("idle")?.isFlushable == false)
        #expect(changes == [.barriers])
        changes = []
        bench.gate.network.value = .connected(.cellular)
        #expect(changes == [.barriers])
        watching.dispose()
    }

    @Test("B10: several watchers are independent of each other")
    func reportedToMany() throws {
        var reported: [String] = []
        let first = bench.gate.changes.subscribe { _ in reported.append("first") }
        let second = bench.gate.changes.subscribe { _ in reported.append("second") }
        try barriers.register("door", RemoteBarrierRegistration(scopes: [], state: .closed), by: shop)
        #expect(reported == ["first", "second"])
        second.dispose()
        try barriers.set("door", RemoteBarrierChange(reason: "why"), by: shop)
        #expect(reported == ["first", "second", "first"])
        first.dispose()
    }

    @Test("B10: since is the time of the last change of state, not that of a new dispatcher")
    func sinceStays() throws {
        try barriers.register("door", RemoteBarrierRegistration(state: .closed), by: shop)
        let since = try #require(bench.barrier("door")?.since)
        bench.advance(by: .seconds(60))
        bench.add(DispatcherSettings(id: "late"))
        bench.settle()
        #expect(bench.barrier("door")?.states.map(\.dispatcher) == ["archive", "collect", "late"])
        #expect(bench.barrier("door")?.since == since)
        bench.gate.removeDispatcher("late")
        try barriers.register("door", RemoteBarrierRegistration(state: .closed), by: shop)
        #expect(bench.barrier("door")?.since == since)
        try barriers.set("door", RemoteBarrierChange(state: .open), by: shop)
        #expect(bench.barrier("door")?.since == bench.scheduler.wall && bench.scheduler.wall != since)
    }

    @Test("B10: outcomes count delivered, dead, expired, evicted and retried events")
    func outcomes() throws {
        bench.track(3)
        bench["collect"].answer(.status(503))
        bench["archive"].answer(.delivered)
        bench.settle()
        let outcomes = bench.gate.outcomes
        #expect(outcomes.map(\.dispatcher) == ["archive", "collect"])
        #expect(outcomes.map(\.counters[.sent]) == [3, 0])
        #expect(outcomes.map(\.counters[.retried]) == [0, 3])
        #expect(outcomes.map(\.lastError) == [nil, "HTTP 503"])
        #expect(outcomes[0].since(outcomes[0]).counters[.sent] == 0)
    }

    @Test("B10: a restored dispatcher restarts its outcome counts, which are never negative")
    func outcomesOfAnother() {
        bench.track(3)
        bench["archive"].answer(.delivered)
        bench.settle()
        let before = bench.gate.outcomes[0]
        bench.gate.removeDispatcher("archive")
        bench.settle()
        bench.add(DispatcherSettings(id: "archive"))
        bench.track(1)
        bench["archive"].answer(.delivered)
        bench.settle()
        let after = bench.gate.outcomes[0]
        #expect(after.dispatcher == "archive" && before.counters[.sent] == 3)
        #expect(after.since(before).counters[.sent] == 1)
    }

    // MARK: Restarts

    @Test(
        "B29: a kept barrier survives a restart without an owner, in the state that on_disconnect specifies",
        arguments: [
            (.open, .open, .open), (.close, .closed, .closed), (.keep, .open, .closed), (.unregister, nil, nil),
        ] as [(RemoteBarrierRegistration.OnDisconnect, BarrierState?, BarrierState?)])
    func restarted(
        onDisconnect: RemoteBarrierRegistration.OnDisconnect, archive: BarrierState?, collect: BarrierState?
    ) throws {
        try barriers.register(
            "door", RemoteBarrierRegistration(state: .open, isFlushable: false, onDisconnect: onDisconnect), by: shop)
        try barriers.set(
            "door", RemoteBarrierChange(state: .closed, dispatcher: "collect", reason: "no consent"), by: shop)
        bench.settle()
        try bench.restart()
        bench.track(1)
        #expect(states()?["archive"] == archive && states()?["collect"] == collect)
        #expect(bench["collect"].sent.isEmpty == (collect == .closed))
        guard archive != nil else { return }
        #expect(bench.barrier("door")?.identity.owner == nil && bench.barrier("door")?.isFlushable == false)
        #expect(bench.barrier("door")?.scopes == [.all])
        #expect(throws: RemoteBarrierRefusal.ownerless) {
            try barriers.set("door", RemoteBarrierChange(state: .open), by: till)
        }
        try barriers.register("door", RemoteBarrierRegistration(state: .open), by: till)
        bench.settle()
        try bench.restart()
        #expect(bench.barrier("door") == nil, "a barrier registered again without `keep` is not restored")
    }

    @Test("B29: kept barriers whose ids differ in their bytes alone are all restored")
    func lookalikes() throws {
        let ids = ["b\u{E9}", "be\u{301}", "\u{301}x", "100 %", "100%25"]
        for id in ids {
            try barriers.register(id, RemoteBarrierRegistration(state: .closed, onDisconnect: .keep), by: shop)
        }
        bench.settle()
        try bench.restart()
        let restored = Set(bench.gate.barrierSummaries.map { ExactName($0.identity.id) })
        #expect(restored.isSuperset(of: ids.map(ExactName.init)))
    }

    @Test("B29: changes of a kept barrier are answered when stored, and changes of other barriers at once")
    func answeredWhenStored() throws {
        var answers: [String] = []
        func answer(_ name: String) -> (StoreFault?) -> Void { { answers.append($0 == nil ? name : "\(name) failed") } }
        try barriers.register("door", RemoteBarrierRegistration(state: .closed), by: shop, then: answer("plain"))
        #expect(answers == ["plain"])
        bench.store.writeFault = .noRoom("full")
        let staying = RemoteBarrierRegistration(state: .closed, onDisconnect: .close)
        try barriers.register("gate", staying, by: shop, then: answer("kept"))
        #expect(answers == ["plain"])
        bench.settle()
        #expect(answers == ["plain", "kept failed"])
        bench.store.writeFault = nil
        bench.advance(by: .seconds(1))
        try barriers.set("gate", RemoteBarrierChange(state: .open), by: shop, then: answer("set"))
        #expect(answers.count == 2)
        bench.settle()
        try barriers.unregister("gate", by: shop, force: false, then: answer("gone"))
        bench.settle()
        #expect(answers == ["plain", "kept failed", "set", "gone"])
        try bench.restart()
        #expect(bench.barrier("gate") == nil)
    }

    @Test("B29: a configured barrier replaces a kept one with the same id at a start")
    func yields() throws {
        try barriers.register("door", RemoteBarrierRegistration(state: .closed, onDisconnect: .close), by: shop)
        bench.settle()
        try bench.restart()
        barriers.yieldTurn(to: ["door", "other"])
        bench.settle()
        try bench.restart()
        #expect(bench.barrier("door") == nil)
    }

    @Test("Q11: a kept barrier has this encoding, and other bytes are rejected")
    func keptBytes() throws {
        var setting = RemoteBarrier.Setting(general: .init(state: .open), isFlushable: true)
        setting.exceptions = ["c": .init(state: .closed, reason: "no")]
        let kept = KeptRemoteBarrier(
            registration: RemoteBarrierRegistration(
                scopes: [.all, .dispatcher(id: "c")], state: .open, onDisconnect: .keep),
            setting: setting, owner: "x")
        let bytes: [UInt8] =
            [1, 3, 1, 0, 0, 1, 0, 0x78, 2, 0, 3, 0] + Array("all".utf8) + [1, 0, 0x63, 1, 0, 1, 0, 0x63, 1, 1, 2, 0]
            + Array("no".utf8)
        #expect(kept.bytes == bytes)
        #expect(KeptRemoteBarrier(bytes: bytes) == kept)
        for end in bytes.indices { #expect(KeptRemoteBarrier(bytes: Array(bytes[..<end])) == nil) }
        #expect(
            KeptRemoteBarrier(bytes: bytes + [0]) == nil && KeptRemoteBarrier(bytes: [2] + bytes.dropFirst()) == nil)
    }
}
