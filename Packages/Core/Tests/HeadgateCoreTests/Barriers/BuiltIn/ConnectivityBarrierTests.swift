import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import Testing

@Suite("ConnectivityBarrier")
struct ConnectivityBarrierTests {
    let bench = BarrierBench()

    private func barrier(_ configuration: DataObject = [:]) throws -> ConnectivityBarrier {
        try Barriers.connectivity(defaultScopes: [.all]).create(context: bench.context, configuration: configuration)
    }

    @Test(
        "B20: the barrier is open with a network connection, and with wifi_only on Wi-Fi and Ethernet only",
        arguments: [
            (NetworkState.disconnected, BarrierState.closed, BarrierState.closed),
            (.connected(.ethernet), .open, .open),
            (.connected(.wifi), .open, .open),
            (.connected(.cellular), .open, .closed),
            (.connected(.other), .open, .closed),
        ])
    func states(network: NetworkState, defaults: BarrierState, wifiOnly: BarrierState) throws {
        let barriers = [try barrier(), try barrier(["wifi_only": false]), try barrier(["wifi_only": true])]
        let watches = barriers.map { BarrierWatch($0) }
        bench.network.value = network
        #expect(watches.map(\.state) == [defaults, defaults, wifiOnly])
        #expect(
            barriers.map { $0.reason(for: "collect") == nil } == [defaults, defaults, wifiOnly].map { $0 == .open })
    }

    @Test("B20: the barrier is flushable while any connection exists, so that a flush overrides wifi_only")
    func flushability() throws {
        let watch = BarrierWatch(try barrier(["wifi_only": true]))
        #expect(watch.isFlushable == false)
        bench.network.value = .connected(.cellular)
        #expect(watch.state == .closed)
        #expect(watch.isFlushable == true)
        bench.network.value = .disconnected
        #expect(watch.isFlushable == false)
    }

    @Test("B20: the barrier reopens by itself")
    func reopens() throws {
        let watch = BarrierWatch(try barrier())
        for state: NetworkState in [.connected(.wifi), .disconnected, .connected(.cellular)] {
            bench.network.value = state
        }
        #expect(watch.states == [.open, .closed, .open])
    }

    @Test("B7: a change of wifi_only applies at once, and an invalid one has no effect")
    func configuration() throws {
        let barrier = try barrier()
        let watch = BarrierWatch(barrier)
        bench.network.value = .connected(.cellular)
        try barrier.updateConfiguration(["wifi_only": true])
        #expect(watch.state == .closed)
        #expect(throws: BarrierConfigurationFault(key: "wifi_only", message: "must be true or false")) {
            try barrier.updateConfiguration(["wifi_only": "no"])
        }
        #expect(watch.state == .closed)
        try barrier.updateConfiguration([:])
        #expect(watch.state == .open)
    }
}

@Suite("ConnectivityBarrier in the gate")
struct ConnectivityInTheGateTests {
    /// Creates a gate with a dispatcher `collect` that uses the network and a dispatcher `archive` that does not.
    private func bench(watchesNetwork: Bool = true) -> GateBench {
        let bench = GateBench([DispatcherSettings(id: "archive")])
        if watchesNetwork { bench.gate.watchNetwork() }
        let sender = RecordingSender(scheduler: bench.scheduler)
        bench.gate.addDispatcher(
            DispatcherSettings(id: "collect"), kind: "recording", sender: sender, reachesNetwork: true)
        bench.settle()
        return bench
    }

    @Test("B20: by default the barrier is before all dispatchers that use the network")
    func byDefault() throws {
        let bench = bench()
        let barrier = try #require(bench.barrier("ConnectivityBarrier"))
        #expect(barrier.scopes == [.dispatcher(id: "collect")])
        #expect(barrier.identity.word == "connectivity")
        bench.gate.network.value = .disconnected
        #expect(bench.summary(of: "collect").blockedBy == ["ConnectivityBarrier"])
        #expect(bench.summary(of: "archive").isOpen)
        #expect(self.bench(watchesNetwork: false).barrier("ConnectivityBarrier") == nil)
    }

    @Test("B3, B21: while the network state is unknown the barrier is waiting, and no flush passes")
    func unknown() throws {
        let bench = bench()
        let states = { bench.barrier("ConnectivityBarrier")?.states.map(\.state) }
        #expect(states() == [nil])
        bench.gate.network.value = .connected(.wifi)
        #expect(states() == [.open])
        bench.gate.network.value = .unknown
        #expect(states() == [nil])
        bench.track(1)
        _ = bench.gate.flush(dispatchers: ["collect"], timeout: nil) { _ in }
        bench.settle()
        #expect(bench.summary(of: "collect").blockedBy == ["ConnectivityBarrier"])
        #expect(bench.summary(of: "collect").pending == 1)
    }

    @Test("B5: scopes and configuration in the settings have precedence, and empty scopes disable the barrier")
    func settings() throws {
        let bench = bench()
        bench.gate.network.value = .connected(.cellular)
        try bench.gate.barriers.configure(
            id: "ConnectivityBarrier", kind: "ConnectivityBarrier", scopes: [.all], configuration: ["wifi_only": true])
        #expect(bench.summary(of: "archive").blockedBy == ["ConnectivityBarrier"])
        #expect(bench.gate.barrierSummaries.count { $0.identity.kind == "ConnectivityBarrier" } == 1)
        try bench.gate.barriers.update(id: "ConnectivityBarrier", scopes: [], configuration: ["wifi_only": true])
        #expect(bench.summary(of: "collect").isOpen)
        #expect(bench.summary(of: "archive").isOpen)
    }

    @Test("B7: without its settings the barrier returns to its defaults")
    func reset() throws {
        let bench = bench()
        bench.gate.network.value = .connected(.cellular)
        try bench.gate.barriers.configure(
            id: "ConnectivityBarrier", kind: "ConnectivityBarrier", scopes: [.all], configuration: ["wifi_only": true])
        try bench.gate.barriers.reset(id: "ConnectivityBarrier")
        let barrier = try #require(bench.barrier("ConnectivityBarrier"))
        #expect(barrier.scopes == [.dispatcher(id: "collect")])
        #expect(barrier.configuration == [:])
        #expect(bench.summary(of: "collect").isOpen)
    }

    @Test("B20: later dispatchers are in the barrier's default scopes")
    func laterDispatcher() throws {
        let bench = bench()
        bench.gate.addDispatcher(
            DispatcherSettings(id: "later"), kind: "recording", sender: RecordingSender(scheduler: bench.scheduler),
            reachesNetwork: true)
        let barrier = try #require(bench.barrier("ConnectivityBarrier"))
        #expect(barrier.scopes == [.dispatcher(id: "collect"), .dispatcher(id: "later")])
    }

    @Test("D13: held events are annotated, with the kind of connection at the time of sending")
    func annotation() throws {
        let bench = GateBench([])
        bench.gate.watchNetwork()
        let sender = RecordingSender(scheduler: bench.scheduler)
        bench.gate.addDispatcher(
            DispatcherSettings(id: "collect"), kind: "recording", sender: sender, reachesNetwork: true)
        bench.gate.network.value = .disconnected
        bench.track(1)
        #expect(sender.batches.isEmpty)
        bench.gate.network.value = .connected(.cellular)
        bench.settle()
        let body = String(decoding: try #require(sender.batches.first).body, as: UTF8.self)
        #expect(
            body.contains(
                #""was_queued":"true","queue_reason":"connectivity","network_connection_type":"cellular""#))
    }
}
