import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Flushes when the network returns")
struct NetworkReturnTests {
    let bench = GateBench([])

    /// Both dispatchers have a flushable barrier. Only `remote` also has the ConnectivityBarrier.
    init() {
        bench.gate.watchNetwork()
        bench.gate.flushesOnReturn = true
        for (id, reachesNetwork) in [("local", false), ("remote", true)] {
            bench.gate.addDispatcher(
                DispatcherSettings(id: id), kind: "recording", sender: sender(id), reachesNetwork: reachesNetwork)
        }
        bench.gate.registerScopedBarrier(SwitchBarrier(.closed), id: "door", scopes: [.all])
        bench.gate.network.value = .connected(.ethernet)
        bench.settle()
    }

    private final class Senders {
        var all: [String: RecordingSender] = [:]
    }

    private let senders = Senders()

    private func sender(_ id: String) -> RecordingSender {
        let sender = RecordingSender(scheduler: bench.scheduler)
        senders.all[id] = sender
        return sender
    }

    private func sent(_ id: String) -> [[SequenceNumber]] { senders.all[id]?.sent ?? [] }

    private func go(_ states: NetworkState...) {
        for state in states {
            bench.gate.network.value = state
            bench.settle()
        }
    }

    @Test("F5: when the network returns, the dispatchers behind the ConnectivityBarrier are flushed")
    func flushes() {
        bench.track(1)
        go(.disconnected)
        bench.track(1)
        #expect(sent("remote").isEmpty)
        go(.connected(.cellular))
        bench.track(1)
        #expect(sent("remote") == [[1, 2]] && sent("local").isEmpty)
        senders.all["remote"]?.answer()
        bench.settle()
        #expect(sent("remote") == [[1, 2]], "a later event is not part of the flush")
        #expect(bench.summary(of: "remote").isFlushing == false)
    }

    @Test("F5: neither the first known network state nor a change of the kind of connection counts as a return")
    func noReturn() {
        bench.track(1)
        go(.unknown, .connected(.wifi), .connected(.cellular), .unknown, .connected(.ethernet))
        #expect(sent("remote").isEmpty)
        go(.disconnected, .unknown, .connected(.ethernet))
        #expect(sent("remote") == [[1]])
    }

    @Test("F5: the flush can be disabled, and a stopping service starts none")
    func switchedOff() {
        bench.track(1)
        bench.gate.flushesOnReturn = false
        go(.disconnected, .connected(.wifi))
        #expect(sent("remote").isEmpty && !bench.summary(of: "remote").isFlushing)
        bench.gate.flushesOnReturn = true
        bench.gate.stop(within: .seconds(1), flushing: false) { _ in }
        go(.disconnected, .connected(.wifi))
        #expect(sent("remote").isEmpty)
    }

    @Test("F5, B20: with wifi_only the return of a cellular network causes no flush, and the return of Wi-Fi does")
    func wifiOnly() throws {
        try bench.gate.barriers.update(
            id: ConnectivityBarrier.id, scopes: [.dispatcher(id: "remote")], configuration: ["wifi_only": true])
        bench.track(1)
        go(.disconnected, .connected(.cellular))
        #expect(sent("remote").isEmpty && !bench.summary(of: "remote").isFlushing)
        go(.disconnected, .connected(.wifi))
        #expect(sent("remote") == [[1]])
    }

    @Test("F5, B20: with wifi_only Wi-Fi that follows a cellular connection causes one flush of the pending events")
    func wifiAfterCellular() throws {
        try bench.gate.barriers.update(
            id: ConnectivityBarrier.id, scopes: [.dispatcher(id: "remote")], configuration: ["wifi_only": true])
        bench.track(1)
        go(.disconnected, .connected(.cellular), .connected(.wifi))
        #expect(sent("remote") == [[1]])
        bench.track(1)
        go(.connected(.ethernet))
        #expect(sent("remote") == [[1]])
    }

    @Test("F5: only a dispatcher whose barriers are all open is flushed")
    func oneOfTwo() throws {
        try bench.gate.barriers.configure(
            id: "picky", kind: ConnectivityBarrier.id, scopes: [.dispatcher(id: "local")],
            configuration: ["wifi_only": true])
        bench.track(1)
        go(.disconnected, .connected(.cellular))
        #expect(sent("remote") == [[1]] && sent("local").isEmpty)
    }

    @Test("F5, F4: an unstable network causes one flush at a time, of all queued events, without a timeout")
    func flapping() {
        _ = bench.gate.pause("remote", reason: nil, isFlushable: false) { _ in }
        for _ in 0..<100 {
            bench.track(1)
            go(.disconnected, .connected(.wifi))
            bench.advance(by: .milliseconds(10))
        }
        #expect(bench.gate.flushes.table.flushes.count == 1)
        bench.advance(by: .seconds(100_000))
        #expect(bench.summary(of: "remote").isFlushing)
        _ = bench.gate.resume("remote") { _ in }
        bench.settle()
        senders.all["remote"]?.reply = { _ in .delivered }
        senders.all["remote"]?.answer()
        bench.settle()
        #expect(senders.all["remote"]?.delivered == Array(1...100) && !bench.summary(of: "remote").isFlushing)
    }
}
