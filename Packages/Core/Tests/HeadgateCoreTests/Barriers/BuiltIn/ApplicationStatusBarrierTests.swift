import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import Testing

@Suite("ApplicationStatusBarrier")
struct ApplicationStatusBarrierTests {
    let bench = GateBench()

    private func add(_ configuration: DataObject = ["block_in_background": true]) throws {
        try bench.gate.barriers.configure(
            id: "status", kind: "ApplicationStatusBarrier", scopes: nil, configuration: configuration)
    }

    private func announce(_ status: ApplicationStatus?, by client: Int) {
        bench.gate.clientStatuses.value[client] = status
        bench.settle()
    }

    @Test("B26: the barrier is closed while every client that announced a status is in the background")
    func background() throws {
        try add()
        #expect(bench.summary().isOpen)
        announce(.background, by: 1)
        #expect(bench.summary().blockedBy == ["status"])
        announce(.foreground, by: 2)
        #expect(bench.summary().isOpen)
        announce(.background, by: 2)
        #expect(bench.summary().blockedBy == ["status"])
        announce(.exiting, by: 2)
        #expect(bench.summary().isOpen)
        announce(nil, by: 2)
        #expect(bench.summary().blockedBy == ["status"])
        announce(nil, by: 1)
        #expect(bench.summary().isOpen)
    }

    @Test("B26: a flush passes the barrier")
    func flushable() throws {
        try add()
        announce(.background, by: 1)
        bench.track(1)
        #expect(bench.sender.sent.isEmpty)
        _ = bench.gate.flush(timeout: nil) { _ in }
        bench.settle()
        #expect(bench.sender.sent == [[1]])
    }

    @Test("B26, B7: block_in_background is true by default, and may change")
    func configuration() throws {
        try add([:])
        announce(.background, by: 1)
        #expect(bench.summary().blockedBy == ["status"])
        #expect(bench.barrier("status")?.reason == "every client is in the background")
        #expect(bench.barrier("status")?.identity.word == "application_status")
        try bench.gate.barriers.update(id: "status", scopes: nil, configuration: ["block_in_background": false])
        #expect(bench.summary().isOpen)
        #expect(throws: BarrierConfigurationFault.self) { try add(["block_in_background": 1]) }
    }
}
