import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import Testing

@Suite("Configured barriers")
struct ConfiguredBarrierTests {
    let bench = GateBench([DispatcherSettings(id: "collect"), DispatcherSettings(id: "archive")])
    let factory = RecordingBarrier.Factory()

    init() {
        bench.gate.barriers.factories[RecordingBarrier.id] = factory
    }

    private func add(
        _ id: String = "recording", scopes: [BarrierScope]? = nil, received configuration: DataObject = [:]
    ) throws {
        try bench.gate.barriers.configure(
            id: id, kind: "RecordingBarrier", scopes: scopes, configuration: configuration)
    }

    @Test("B5: scopes come from the settings, or from the factory's default, or are all")
    func scopes() throws {
        try add("named", scopes: [.dispatcher(id: "collect")])
        try add("all")
        factory.scopes = [.dispatcher(id: "archive")]
        try add("default")
        let scopes = ["named", "all", "default"].map { bench.barrier($0)?.scopes }
        #expect(scopes == [[.dispatcher(id: "collect")], [.all], [.dispatcher(id: "archive")]])
        try bench.gate.barriers.add(Unscoped())
        #expect(bench.barrier("UnscopedBarrier")?.scopes == [.all])
    }

    @Test("Several barriers of one kind may have different names")
    func several() throws {
        try add("one", scopes: [.dispatcher(id: "collect")], received: ["state": "closed"])
        try add("two", scopes: [.dispatcher(id: "archive")])
        #expect(bench.summary(of: "collect").blockedBy == ["one"])
        #expect(bench.summary(of: "archive").isOpen)
        #expect(bench.barrier("two")?.identity == BarrierIdentity(id: "two", kind: "RecordingBarrier"))
    }

    @Test("B7: a change updates the existing barrier and its scopes")
    func updates() throws {
        try add()
        try bench.gate.barriers.update(
            id: "recording", scopes: [.dispatcher(id: "archive")], configuration: ["state": "closed"])
        #expect(bench.summary(of: "archive").blockedBy == ["recording"])
        #expect(bench.summary(of: "collect").isOpen)
        try add(scopes: [.all], received: ["state": "closed", "again": true])
        #expect(bench.summary(of: "collect").blockedBy == ["recording"])
        #expect(factory.made.map(\.received) == [[[:], ["state": "closed"], ["state": "closed", "again": true]]])
        #expect(bench.barrier("recording")?.configuration == ["state": "closed", "again": true])
    }

    @Test("B7: without its settings a barrier gets an empty configuration and its default scopes")
    func reset() throws {
        try add(scopes: [.dispatcher(id: "archive")], received: ["state": "closed"])
        try bench.gate.barriers.reset(id: "recording")
        #expect(factory.made.first?.received.last == [:])
        #expect(bench.barrier("recording")?.scopes == [.all])
        #expect(bench.barrier("recording")?.configuration == [:])
        #expect(bench.summary(of: "archive").isOpen)
        try bench.gate.barriers.reset(id: "unknown")
    }

    @Test("B7: without its settings a barrier gets its default scopes even if it rejects the empty configuration")
    func resetRefused() throws {
        try add(scopes: [.dispatcher(id: "archive")], received: ["state": "closed"])
        try #require(factory.made.first).refusesAll = true
        #expect(throws: BarrierConfigurationFault.self) { try bench.gate.barriers.reset(id: "recording") }
        #expect(bench.barrier("recording")?.scopes == [.all])
        #expect(bench.summary(of: "collect").blockedBy == ["recording"])
    }

    @Test("B7: a rejected configuration is reported, and the old one stays in force")
    func refused() throws {
        var reported: [String] = []
        let failures = bench.gate.barrierFailures.subscribe { reported.append("\($0.barrier.id): \($0.error)") }
        defer { failures.dispose() }
        try add(scopes: [.dispatcher(id: "archive")], received: ["state": "closed"])
        #expect(throws: BarrierConfigurationFault(key: "refuse", message: "is refused")) {
            try bench.gate.barriers.update(id: "recording", scopes: [.all], configuration: ["refuse": true])
        }
        #expect(bench.summary(of: "archive").blockedBy == ["recording"])
        #expect(bench.summary(of: "collect").isOpen)
        #expect(bench.barrier("recording")?.configuration == ["state": "closed"])
        #expect(reported.count == 1)
        #expect(bench.counters[.barrierErrors] == 1)
    }

    @Test("B7: scopes set with a rejected configuration never take effect, even after later changes")
    func refusedScopes() throws {
        try add(scopes: [.dispatcher(id: "archive")], received: ["state": "closed"])
        #expect(throws: BarrierConfigurationFault.self) {
            try bench.gate.barriers.update(id: "recording", scopes: nil, configuration: ["refuse": true])
        }
        bench.add(DispatcherSettings(id: "later"))
        #expect(bench.barrier("recording")?.scopes == [.dispatcher(id: "archive")])
    }

    @Test("S2: a barrier cannot be created with a rejected configuration or an unknown kind")
    func notMade() {
        #expect(throws: BarrierConfigurationFault(key: "refuse", message: "is refused")) {
            try add(received: ["refuse": true])
        }
        #expect(bench.barrier("recording") == nil)
        #expect(throws: BarrierConfigurationFault.self) {
            try bench.gate.barriers.configure(id: "x", kind: "NoBarrier", scopes: nil, configuration: [:])
        }
        #expect(throws: BarrierConfigurationFault.self) {
            try bench.gate.barriers.update(id: "x", scopes: nil, configuration: [:])
        }
    }

    @Test(
        "B9: a barrier whose creation fails for another reason has the state on_error until it succeeds",
        arguments: [BarrierState.open, .closed])
    func brokenFactory(state: BarrierState) throws {
        try bench.gate.barriers.configure(
            id: "recording", kind: "RecordingBarrier", scopes: nil, configuration: ["fail": true], stateOnError: state)
        #expect(bench.barrier("recording")?.states.map(\.state) == [state, state])
        #expect(bench.barrier("recording")?.reason == "could not be created: failed")
        #expect(bench.counters[.barrierErrors] == 1)
        try bench.gate.barriers.update(id: "recording", scopes: nil, configuration: ["state": "closed"])
        #expect(bench.barrier("recording")?.states.map(\.state) == [.closed, .closed])
        #expect(bench.barrier("recording")?.reason == nil)
        #expect(bench.gate.barrierSummaries.count { $0.identity.id == "recording" } == 1)
    }

    @Test("B9: a barrier that throws on new settings keeps its state, and the error is counted")
    func failingUpdate() throws {
        try add(received: ["state": "closed"])
        #expect(throws: RecordingBarrier.Failure.self) {
            try bench.gate.barriers.update(id: "recording", scopes: nil, configuration: ["fail": true])
        }
        #expect(bench.summary().blockedBy == ["recording"])
        #expect(bench.counters[.barrierErrors] == 1)
    }

    @Test("A change of kind replaces the barrier of that name")
    func replaced() throws {
        try add(received: ["state": "closed"])
        try bench.gate.barriers.configure(
            id: "recording", kind: "BatchingBarrier", scopes: [.all], configuration: ["batch_size": 1])
        let kinds = bench.gate.barrierSummaries.filter { $0.identity.id == "recording" }.map(\.identity.kind)
        #expect(kinds == ["BatchingBarrier"])
        #expect(bench.summary(of: "archive").blockedBy == ["recording"], "it is closed while no event is pending")
    }

    @Test("B8: a configured barrier can be neither unregistered nor given other scopes by code")
    func registrar() throws {
        try add(scopes: [.dispatcher(id: "archive")], received: ["state": "closed"])
        let barrier = try #require(factory.made.first)
        bench.gate.unregisterScopedBarrier(barrier)
        bench.gate.registerScopedBarrier(barrier, scopes: [.all])
        #expect(bench.barrier("recording")?.scopes == [.dispatcher(id: "archive")])
        #expect(bench.summary(of: "archive").blockedBy == ["recording"])
    }

    @Test("B8: barriers registered without a name get that of their type, with a number if it is taken")
    func names() {
        let barriers = (0..<3).map { _ in SwitchBarrier(.open) }
        for barrier in barriers + barriers { bench.gate.registerScopedBarrier(barrier, scopes: [.all]) }
        let names = bench.gate.barrierSummaries.map(\.identity.id).filter { $0.hasPrefix("Switch") }
        #expect(names == ["SwitchBarrier", "SwitchBarrier-2", "SwitchBarrier-3"])
    }

    @Test("A factory added by a program creates a barrier with its default scopes, which settings can configure")
    func addedFactory() throws {
        factory.scopes = [.dispatcher(id: "archive")]
        try bench.gate.barriers.add(factory)
        #expect(bench.barrier("RecordingBarrier")?.scopes == [.dispatcher(id: "archive")])
        try bench.gate.barriers.configure(
            id: "RecordingBarrier", kind: "RecordingBarrier", scopes: nil, configuration: ["state": "closed"])
        #expect(factory.made.count == 1)
        #expect(bench.summary(of: "archive").blockedBy == ["RecordingBarrier"])
    }

    @Test("B10: the built-in barriers have display names")
    func words() throws {
        let kinds = [
            "ScheduleBarrier", "IntervalBarrier", "ApplicationStatusBarrier", "RateBarrier", "ConnectivityBarrier",
        ]
        for kind in kinds {
            try bench.gate.barriers.configure(id: kind, kind: kind, scopes: nil, configuration: [:])
        }
        let words = bench.gate.barrierSummaries.suffix(5).map(\.identity.word)
        #expect(words == ["schedule", "interval", "application_status", "rate", "connectivity"])
    }
}

/// A barrier factory without default scopes.
private struct Unscoped: BarrierFactory {
    func create(context: BarrierContext, configuration: DataObject) -> UnscopedBarrier {
        UnscopedBarrier()
    }
}

private final class UnscopedBarrier: ConfigurableBarrier {
    static let id = "UnscopedBarrier"

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        Observables.just(.open)
    }

    func updateConfiguration(_ configuration: DataObject) {}
}
