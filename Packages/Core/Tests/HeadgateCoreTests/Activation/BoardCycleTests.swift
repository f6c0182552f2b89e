import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Cycles of boards")
struct BoardCycleTests {
    @Test("A8: serving a board that would close a cycle is refused, with the path")
    func refused() throws {
        var bench = ActivationBench()
        try bench.serve("a", behind: ActivationBarrier(board: "b"))
        try bench.serve("b", behind: ActivationBarrier(board: "c"))
        #expect(throws: ServingRefusal.cycle(["c", "a", "b", "c"])) {
            try bench.serve("c", behind: ActivationBarrier(board: "a"))
        }
        try bench.serve("c", behind: ActivationBarrier(board: "d"))
    }

    @Test("A8: a board that is its own barrier runs without it, with or without a gateway")
    func behindItself() throws {
        var bench = ActivationBench()
        try bench.serve("a", behind: ActivationBarrier(board: "a"))
        let first = try bench.activate("a")
        #expect(bench.running == ["a"])
        bench.answer("a")
        #expect(bench.outcome(of: first) == .completed(done: true, output: nil))
        let all = try #require(GatewayPattern("*"))
        bench.machine.gateways = GatewayRules([all: .barrier(ActivationBarrier(board: "auth"))])
        try bench.serve("auth", behind: ActivationBarrier(board: "auth"))
        let second = try bench.activate("a")
        #expect(bench.running == ["auth"])
        bench.answer("auth")
        #expect(bench.running == ["a"])
        bench.answer("a")
        #expect(bench.outcome(of: second) == .completed(done: true, output: nil))
    }

    @Test("A8: a refusal has no effect: the board keeps its old barrier")
    func refusedInVain() throws {
        var bench = ActivationBench()
        try bench.serve("a", behind: ActivationBarrier(board: "b"))
        try bench.serve("b", behind: ActivationBarrier(board: "c"))
        try bench.serve("c")
        #expect(throws: ServingRefusal.cycle(["b", "a", "b"])) {
            try bench.serve("b", behind: ActivationBarrier(board: "a"))
        }
        #expect(throws: ServingRefusal.cycle(["d", "a", "b", "c", "d"])) {
            try bench.serve("c", behind: ActivationBarrier(board: "d"))
            try bench.serve("d", behind: ActivationBarrier(board: "a"))
        }
        try bench.serve("c")
        #expect(throws: ServingRefusal.differs) { try bench.serve("b", by: 2) }
        let activations = [try bench.activate("b"), try bench.activate("d")]
        #expect(bench.running == ["c"])
        bench.answer("c")
        #expect(bench.runs.map(\.provider) == [1] && bench.running == ["b"])
        bench.answer("b")
        #expect(activations.map(bench.outcome) == [.completed(done: true, output: nil), .notServed])
        bench.providerLeaves(1)
        #expect(bench.machine.boards.isEmpty && bench.machine.peers.isEmpty)
    }

    @Test("A8: a cycle through a gateway is refused, unless the board is exempt from it or bypasses it")
    func throughGateway() throws {
        var bench = ActivationBench()
        let all = try #require(GatewayPattern("*"))
        bench.machine.gateways = GatewayRules([all: .barrier(ActivationBarrier(board: "auth"))])
        try bench.serve("database", BoardServing(bypassesGateway: true))
        try bench.serve("auth", behind: ActivationBarrier(board: "database"))
        #expect(throws: ServingRefusal.cycle(["network", "auth", "database", "network"])) {
            try bench.serve(
                "database", BoardServing(barrier: ActivationBarrier(board: "network"), bypassesGateway: true))
            try bench.serve("network")
        }
    }

    // MARK: Depth

    /// Creates ten boards in a chain, each with the next as its barrier: `b0` is one level too deep, `b9` is the last.
    private func chain() throws -> ActivationBench {
        var bench = ActivationBench()
        for number in 0..<9 { try bench.serve("b\(number)", behind: ActivationBarrier(board: "b\(number + 1)")) }
        try bench.serve("b9")
        return bench
    }

    private static let tooDeep = ActivationOutcome.cycle((0...9).map { "b\($0)" })

    @Test("A8: barriers deeper than 8 fail with the path; 8 do not")
    func tooDeep() throws {
        var bench = try chain()
        let alone = try bench.activate("b0")
        #expect(bench.outcome(of: alone) == BoardCycleTests.tooDeep)
        #expect(bench.running.isEmpty && bench.machine.isForgetful)
        let deep = try bench.activate("b1")
        for number in (1...9).reversed() {
            #expect(bench.running == ["b\(number)"])
            bench.answer("b\(number)")
        }
        #expect(bench.outcome(of: deep) == .completed(done: true, output: nil))
    }

    @Test("A8: an activation that is too deep fails even if it joins a cycle, which continues for the others")
    func joinsTooDeep() throws {
        var bench = try chain()
        let deep = try bench.activate("b1")
        let tooDeep = try bench.activate("b0")
        #expect(bench.outcome(of: tooDeep) == BoardCycleTests.tooDeep)
        #expect(bench.running == ["b9"])
        for number in (1...9).reversed() { bench.answer("b\(number)") }
        #expect(bench.outcome(of: deep) == .completed(done: true, output: nil))
        #expect(bench.machine.isForgetful)
    }

    @Test("A8: an activation that started a cycle and is too deep fails alone, and the cycle continues for the others")
    func isJoinedTooDeep() throws {
        var bench = try chain()
        // The slow board keeps the earlier cycles running, so that another activation can join them.
        bench.machine.gateways = GatewayRules([
            try #require(GatewayPattern("b4")): .barrier(ActivationBarrier(board: "slow"))
        ])
        try bench.serve("slow")
        let tooDeep = try bench.activate("b0")
        let deep = try bench.activate("b1")
        #expect(bench.running == ["slow"])
        bench.answer("slow")
        #expect(bench.outcome(of: tooDeep) == BoardCycleTests.tooDeep)
        for number in (1...9).reversed() {
            #expect(bench.running == ["b\(number)"])
            bench.answer("b\(number)")
        }
        #expect(bench.outcome(of: deep) == .completed(done: true, output: nil))
        #expect(bench.machine.isForgetful)
    }

    @Test("A8: a deep activation that has ended does not count for the depth of others")
    func tooDeepNoMore() throws {
        var bench = try chain()
        bench.machine.gateways = GatewayRules([
            try #require(GatewayPattern("b4")): .barrier(ActivationBarrier(board: "slow"))
        ])
        try bench.serve("slow")
        let gone = try bench.activate("b0")
        let others = [try bench.activate("b1"), try bench.activate("b3")]
        bench.cancel(gone)
        bench.answer("slow")
        for number in (1...9).reversed() { bench.answer("b\(number)") }
        bench.answer("b3")
        #expect(others.map(bench.outcome) == Array(repeating: .completed(done: true, output: nil), count: 2))
        #expect(bench.machine.isForgetful)
    }

    @Test("A8: a cycle closed by a later change of settings fails at once")
    func closedLater() throws {
        var bench = ActivationBench()
        try bench.serve("auth", behind: ActivationBarrier(board: "database"))
        try bench.serve("database")
        let all = try #require(GatewayPattern("*"))
        bench.machine.gateways = GatewayRules([all: .barrier(ActivationBarrier(board: "auth"))])
        let activation = try bench.activate("database")
        #expect(bench.outcome(of: activation) == .cycle(["database", "auth", "database", "auth"]))
        #expect(bench.machine.isForgetful)
    }

    @Test("A8: a chain has the same depth whether it is built from its end or from its head")
    func longChain() throws {
        var bench = ActivationBench()
        let last = 1000
        for number in 0..<last { try bench.serve("b\(number)", behind: ActivationBarrier(board: "b\(number + 1)")) }
        try bench.serve("b\(last)")
        for number in (0...last).reversed() { try bench.activate("b\(number)", client: number) }
        let tooDeep = (0..<last - 8).reversed().map { number in (number...number + 9).map { "b\($0)" } }
        let isRight = bench.ends.map(\.outcome) == tooDeep.map { .cycle($0) }
        #expect(isRight)
        #expect(bench.running == ["b\(last)", "b\(last)"])
        for _ in 0..<2 { bench.answer("b\(last)", done: false) }
        #expect(bench.running.isEmpty && bench.machine.isForgetful)
        let refused = bench.ends.filter { $0.outcome == .cancelled(barrier: "b\(last)", cause: .refused) }
        #expect(refused.count == 8)
    }
}
