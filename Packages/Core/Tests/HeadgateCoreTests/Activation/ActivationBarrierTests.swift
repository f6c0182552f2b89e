import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Barriers before boards")
struct ActivationBarrierTests {
    private func bench(_ change: (inout ActivationBarrier) -> Void = { _ in }) throws -> ActivationBench {
        var bench = ActivationBench()
        var barrier = ActivationBarrier(board: "auth")
        change(&barrier)
        try bench.serve("auth", by: 9)
        try bench.serve("checkout", behind: barrier)
        return bench
    }

    @Test("A2: the board is not run before its barrier has completed")
    func barrierFirst() throws {
        var bench = try bench()
        let activation = try bench.activate("checkout", ["cart": 7], mainboard: "shop")
        let run = try #require(bench.runs.first)
        #expect(bench.running == ["auth"])
        #expect(run.isBarrier && run.input == ["cart": 7] && run.mainboard == "shop")
        bench.answer("auth")
        #expect(bench.running == ["checkout"])
        bench.answer("checkout")
        #expect(bench.outcome(of: activation) == .completed(done: true, output: nil))
        #expect(bench.machine.isForgetful)
    }

    @Test("A2: a barrier that returns false or an error cancels the activation, with the cause refused")
    func refused() throws {
        var bench = try bench()
        let first = try bench.activate("checkout")
        bench.answer("auth", done: false)
        #expect(bench.outcome(of: first) == .cancelled(barrier: "auth", cause: .refused))
        let second = try bench.activate("checkout")
        bench.answer("auth", with: .failure(ActivationFault(message: "no")))
        #expect(bench.outcome(of: second) == .cancelled(barrier: "auth", cause: .refused))
        #expect(bench.running.isEmpty && bench.machine.isForgetful)
    }

    @Test("A2: a barrier without a serving process cancels the activation, with the cause provider_lost")
    func notServed() throws {
        var bench = try bench()
        bench.providerLeaves(9)
        let activation = try bench.activate("checkout")
        #expect(bench.outcome(of: activation) == .cancelled(barrier: "auth", cause: .providerLost))
        #expect(bench.machine.isForgetful)
    }

    @Test("A2: if the board's only process disconnects while the barrier runs, the cause is provider_lost")
    func boardLost() throws {
        var bench = try bench()
        let activation = try bench.activate("checkout")
        bench.providerLeaves(1)
        bench.answer("auth")
        #expect(bench.outcome(of: activation) == .providerLost)
    }

    @Test("A2: all processes that serve a board must declare the same barrier")
    func barriersAgree() throws {
        var bench = try bench()
        #expect(throws: ServingRefusal.differs) { try bench.serve("checkout", by: 2) }
        try bench.serve("checkout", by: 2, behind: ActivationBarrier(board: "auth"))
        #expect(throws: ServingRefusal.differs) { try bench.serve("checkout", by: 1) }
        bench.providerLeaves(2)
        try bench.serve("checkout", by: 1)
        try bench.activate("checkout")
        #expect(bench.running == ["checkout"])
    }

    // MARK: Identity

    @Test(
        "A3: a void barrier is shared by all inputs, a unique one by equal inputs, and an each barrier by none",
        arguments: ActivationBarrier.Option.allCases)
    func options(option: ActivationBarrier.Option) throws {
        var bench = try bench { $0.option = option }
        for input: DataItem in [["a": 1, "b": 2], ["b": 2.0, "a": 1e0], ["a": 1]] {
            try bench.activate("checkout", input)
        }
        switch option {
        case .void: #expect(bench.running == ["auth"])
        case .unique: #expect(bench.runs.map(\.input) == [["a": 1, "b": 2], ["a": 1]])
        case .each: #expect(bench.running == ["auth", "auth", "auth"])
        }
    }

    @Test("A3: a barrier with scope main has one cycle for each mainboard, with scope global one for the service")
    func scopes() throws {
        var main = try bench { $0.scope = .main }
        var global = try bench { $0.scope = .global }
        for mainboard in ["shop", "till", "shop"] {
            try main.activate("checkout", mainboard: mainboard)
            try global.activate("checkout", mainboard: mainboard)
        }
        #expect(main.runs.map(\.mainboard) == ["shop", "till"])
        #expect(global.runs.map(\.mainboard) == ["shop"])
        global.answer("auth")
        #expect(global.runs.map(\.mainboard) == ["shop", "till", "shop"])
    }

    // MARK: Barriers before barriers

    @Test("A2: a barrier may have a barrier itself, and the error names the one that did not complete")
    func nested() throws {
        var bench = ActivationBench()
        try bench.serve("network")
        try bench.serve("auth", behind: ActivationBarrier(board: "network"))
        try bench.serve("checkout", behind: ActivationBarrier(board: "auth"))
        let first = try bench.activate("checkout")
        for board in ["network", "auth", "checkout"] {
            #expect(bench.running == [board])
            bench.answer(board)
        }
        #expect(bench.outcome(of: first) == .completed(done: true, output: nil))
        let second = try bench.activate("checkout")
        bench.answer("network", done: false)
        #expect(bench.outcome(of: second) == .cancelled(barrier: "network", cause: .refused))
        #expect(bench.machine.isForgetful)
    }

    @Test("If a client disconnects, the chain of barriers that only it waits for is cancelled")
    func chainWithdrawn() throws {
        var bench = ActivationBench()
        try bench.serve("network")
        try bench.serve("auth", behind: ActivationBarrier(board: "network"))
        try bench.serve("checkout", behind: ActivationBarrier(board: "auth"))
        try bench.activate("checkout")
        bench.clientLeaves()
        #expect(bench.withdrawn.count == 1 && bench.running.isEmpty)
        #expect(bench.machine.isForgetful)
    }
}
