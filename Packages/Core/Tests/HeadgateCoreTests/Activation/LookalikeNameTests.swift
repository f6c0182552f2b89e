import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Names that differ only in their bytes")
struct LookalikeNameTests {
    private let one = "caf\u{E9}"
    private let two = "cafe\u{301}"

    @Test("A7: a gateway applies only to the board with exactly its name")
    func gateways() throws {
        let pattern = try #require(GatewayPattern(one))
        let rules = GatewayRules([pattern: .barrier(ActivationBarrier(board: "auth"))])
        #expect(rules.barrier(before: one)?.board == "auth")
        #expect(rules.barrier(before: two) == nil)
        #expect(GatewayPattern(two) != pattern)
    }

    @Test("A1: boards with similar-looking names are different")
    func boards() {
        var boards = Boards()
        boards.add(one, BoardServing(), by: 1)
        #expect(boards.serving(two) == nil)
        boards.add(two, BoardServing(bypassesGateway: true), by: 2)
        #expect(boards.serving(one)?.bypassesGateway == false && boards.serving(two)?.bypassesGateway == true)
        boards.remove(one, by: 1)
        #expect(boards.serving(one) == nil && boards.serving(two) != nil)
    }

    @Test("B29: barriers with similar-looking names are different")
    func barriers() throws {
        let bench = GateBench()
        let owner = RemoteBarrierOwner(number: 1, name: "x")
        for (id, state) in [(one, BarrierState.closed), (two, .open)] {
            try bench.gate.remoteBarriers.register(
                id, RemoteBarrierRegistration(scopes: [.all], state: state), by: owner)
        }
        bench.settle()
        #expect(bench.summary(of: "collect").isOpen == false)
        #expect(bench.gate.barrierSummaries.filter { $0.identity.kind == RemoteBarrier.kind }.count == 2)
    }
}
