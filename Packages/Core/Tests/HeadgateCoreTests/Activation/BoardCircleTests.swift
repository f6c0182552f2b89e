import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Boards that wait for each other")
struct BoardCircleTests {
    @Test("A8: who serves a board that would close a circle is refused, with the path")
    func refused() throws {
        var bench = ActivationBench()
        try bench.serve("a", behind: ActivationBarrier(board: "b"))
        try bench.serve("b", behind: ActivationBarrier(board: "c"))
        #expect(throws: ServingRefusal.circle(["c", "a", "b", "c"])) {
            try bench.serve("c", behind: ActivationBarrier(board: "a"))
        }
        try bench.serve("c", behind: ActivationBarrier(board: "d"))
        #expect(throws: ServingRefusal.circle(["e", "e"])) {
            try bench.serve("e", behind: ActivationBarrier(board: "e"))
        }
    }

    @Test("A8: a circle through a gateway is refused too, unless the board is exempt or bypasses it")
    func throughGateway() throws {
        var bench = ActivationBench()
        let all = try #require(GatewayPattern("*"))
        bench.machine.gateways = GatewayRules([all: .barrier(ActivationBarrier(board: "auth"))])
        try bench.serve("database", BoardServing(bypassesGateway: true))
        try bench.serve("auth", behind: ActivationBarrier(board: "database"))
        #expect(throws: ServingRefusal.circle(["network", "auth", "database", "network"])) {
            try bench.serve(
                "database", BoardServing(barrier: ActivationBarrier(board: "network"), bypassesGateway: true))
            try bench.serve("network")
        }
    }

    @Test("A8: barriers deeper than 8 fail with the path; 8 do not")
    func tooDeep() throws {
        var bench = ActivationBench()
        for number in 0..<9 { try bench.serve("b\(number)", behind: ActivationBarrier(board: "b\(number + 1)")) }
        try bench.serve("b9")
        let deep = try bench.activate("b1")
        #expect(bench.running == ["b9"])
        let tooDeep = try bench.activate("b0")
        #expect(bench.outcome(of: tooDeep) == nil, "it waits for a cycle that is under way")
        for number in (1...9).reversed() { bench.answer("b\(number)") }
        #expect(bench.outcome(of: deep) == .completed(done: true, output: nil))
        bench.clientLeaves()
        let alone = try bench.activate("b0")
        #expect(bench.outcome(of: alone) == .circle((0...9).map { "b\($0)" }))
        #expect(bench.running.isEmpty && bench.machine.isForgetful)
    }

    @Test("A8: a circle that settings closed later fails at once instead of waiting for ever")
    func closedLater() throws {
        var bench = ActivationBench()
        try bench.serve("auth", behind: ActivationBarrier(board: "database"))
        try bench.serve("database")
        let all = try #require(GatewayPattern("*"))
        bench.machine.gateways = GatewayRules([all: .barrier(ActivationBarrier(board: "auth"))])
        let activation = try bench.activate("database")
        #expect(bench.outcome(of: activation) == .circle(["database", "auth", "database", "auth"]))
        #expect(bench.machine.isForgetful)
    }

    @Test("A chain of barriers of any length that is refused takes no stack")
    func longChain() throws {
        var bench = ActivationBench()
        let count = 1000
        let quick = try #require(GatewayPattern("*"))
        bench.machine.gateways = GatewayRules([quick: .barrier(ActivationBarrier(board: "quick"))])
        try bench.serve("quick")
        for number in 0..<count {
            let barrier = number + 1 < count ? ActivationBarrier(board: "b\(number + 1)") : nil
            try bench.serve("b\(number)", behind: barrier)
        }
        // From the end, so that each joins the cycle of the next.
        for number in stride(from: count - 7, through: 0, by: -7) {
            try bench.activate("b\(number)", client: number)
            bench.answer("quick")
            while bench.running.contains("quick") { bench.answer("quick") }
        }
        #expect(bench.running.count == 1)
        bench.answer("b\(count - 1)", done: false)
        #expect(bench.running.isEmpty && bench.machine.isForgetful)
        #expect(bench.ends.allSatisfy { $0.outcome == .cancelled(barrier: "b\(count - 1)", cause: .refused) })
    }
}
