import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Barriers chosen for each activation")
struct BarrierChoiceTests {
    private static let auth = ActivationBarrier(board: "auth")

    private func bench() throws -> ActivationBench {
        var bench = ActivationBench()
        try bench.serve("auth", by: 2)
        try bench.serve("shop", BoardServing(.chosen))
        return bench
    }

    @Test("A2: the board's process chooses a barrier, or none, from each activation's input")
    func chosen() throws {
        var bench = try bench()
        let guarded = try bench.activate("shop", "buy")
        let open = try bench.activate("shop", "look")
        #expect(bench.choices.map(\.input) == ["buy", "look"] && bench.running.isEmpty)
        bench.choose("shop", Self.auth)
        #expect(bench.running == ["auth"])
        bench.choose("shop", nil)
        #expect(bench.running == ["auth", "shop"])
        bench.answer("shop")
        #expect(bench.outcome(of: open) == .completed(done: true, output: nil))
        bench.answer("auth")
        #expect(bench.running == ["shop"])
        bench.answer("shop")
        #expect(bench.outcome(of: guarded) == .completed(done: true, output: nil))
        #expect(bench.machine.isForgetful)
    }

    @Test("A2: a refused chosen barrier cancels the activation, and an error instead of a choice ends it")
    func refused() throws {
        var bench = try bench()
        let refused = try bench.activate("shop")
        bench.choose("shop", Self.auth)
        bench.answer("auth", done: false)
        #expect(bench.outcome(of: refused) == .cancelled(barrier: "auth", cause: .refused))
        let failed = try bench.activate("shop")
        let fault = ActivationFault(message: "no")
        bench.choose("shop", with: .failure(fault))
        #expect(bench.outcome(of: failed) == .failed(fault))
        #expect(bench.machine.isForgetful)
    }

    @Test("A2: without a choice within timeout_ms the activation ends, and a late choice has no effect")
    func late() throws {
        var bench = try bench()
        let activation = try bench.activate("shop") { $0.timeout = .seconds(5) }
        let choice = bench.choices[0]
        bench.pass(.seconds(5))
        #expect(bench.outcome(of: activation) == .timedOut && bench.withdrawn == [choice.run])
        #expect(bench.machine.chose(choice.run, by: 1, .success(nil), at: bench.now).isEmpty)
        #expect(bench.machine.isForgetful)
    }

    @Test("A2: the time limit of the choice is separate from those of the barrier and the run")
    func times() throws {
        var bench = try bench()
        let activation = try bench.activate("shop") { $0.timeout = .seconds(5) }
        bench.pass(.seconds(4))
        bench.choose("shop", Self.auth)
        bench.pass(.seconds(20))
        bench.answer("auth")
        bench.pass(.seconds(4))
        #expect(bench.outcome(of: activation) == nil && bench.running == ["shop"])
        bench.pass(.seconds(1))
        #expect(bench.outcome(of: activation) == .timedOut)
    }

    @Test("A2: only the asked process may choose, and only once, and a choice is not accepted as a board's answer")
    func foreign() throws {
        var bench = try bench()
        try bench.serve("shop", by: 3, BoardServing(.chosen))
        let activation = try bench.activate("shop")
        let choice = bench.choices[0]
        let result = BoardAnswer.success(BoardResult(done: true))
        #expect(bench.machine.answered(choice.run, by: choice.provider, with: result, at: bench.now).isEmpty)
        #expect(bench.machine.chose(choice.run, by: choice.provider + 1, .success(nil), at: bench.now).isEmpty)
        bench.choose("shop", nil)
        let run = bench.runs[0]
        #expect(bench.machine.chose(run.run, by: run.provider, .success(Self.auth), at: bench.now).isEmpty)
        bench.answer("shop")
        #expect(bench.outcome(of: activation) == .completed(done: true, output: nil))
    }

    @Test(
        "A1, A6: if a process disconnects before its choice, the activation ends; for a barrier another process chooses"
    )
    func gone() throws {
        var bench = try bench()
        let lost = try bench.activate("shop")
        bench.providerLeaves(1)
        #expect(bench.outcome(of: lost) == .providerLost)
        try bench.serve("shop", BoardServing(.chosen))
        try bench.serve("till", by: 2, behind: ActivationBarrier(board: "shop"))
        let held = try bench.activate("till")
        try bench.serve("shop", by: 3, BoardServing(.chosen))
        bench.providerLeaves(1)
        #expect(bench.choices.map(\.provider) == [3])
        bench.choose("shop", nil)
        bench.answer("shop")
        bench.answer("till")
        #expect(bench.outcome(of: held) == .completed(done: true, output: nil))
    }

    @Test("A7: the gateway runs before the barrier is chosen, and a chosen barrier that is also the gateway runs once")
    func gateway() throws {
        var bench = try bench()
        let shop = try #require(GatewayPattern("shop"))
        bench.machine.gateways = GatewayRules([shop: .barrier(Self.auth)])
        try bench.activate("shop")
        #expect(bench.running == ["auth"] && bench.choices.isEmpty)
        bench.answer("auth")
        #expect(bench.choices.count == 1)
        bench.choose("shop", Self.auth)
        #expect(bench.running == ["shop"])
    }

    @Test("A8: a board that chooses itself runs without a barrier, and boards that choose each other are a cycle")
    func cycles() throws {
        var bench = try bench()
        try bench.activate("shop")
        bench.choose("shop", ActivationBarrier(board: "shop"))
        #expect(bench.running == ["shop"])
        bench.answer("shop")
        try bench.serve("till", by: 2, BoardServing(.chosen))
        let activation = try bench.activate("shop")
        bench.choose("shop", ActivationBarrier(board: "till"))
        bench.choose("till", ActivationBarrier(board: "shop"))
        bench.choose("shop", ActivationBarrier(board: "till"))
        #expect(bench.outcome(of: activation) == .cycle(["shop", "till", "shop", "till"]))
        #expect(bench.machine.isForgetful)
    }
}

@Suite("Barriers whose code activates boards")
struct WithinRunTests {
    private func bench() throws -> ActivationBench {
        var bench = ActivationBench()
        let all = try #require(GatewayPattern("*"))
        let form = try #require(GatewayPattern("form"))
        bench.machine.gateways = GatewayRules([all: .barrier(ActivationBarrier(board: "auth")), form: .exempt])
        try bench.serve("auth", by: 2)
        for board in ["home", "form", "page"] { try bench.serve(board) }
        return bench
    }

    @Test("A8: a gateway's run that activates a board behind the gateway fails at once with the cycle")
    func cycle() throws {
        var bench = try bench()
        let home = try bench.activate("home")
        let exempt = try bench.activate("form", client: 2)
        #expect(bench.running == ["auth", "form"])
        let inner = try bench.activate("page", client: 2)
        #expect(bench.outcome(of: inner) == .cycle(["page", "auth", "page"]))
        bench.answer("form")
        bench.answer("auth")
        bench.answer("home")
        #expect(bench.outcome(of: exempt) == .completed(done: true, output: nil))
        #expect(bench.outcome(of: home) == .completed(done: true, output: nil))
        #expect(bench.machine.isForgetful)
    }

    @Test("A4: a process that already waits for its own run joins it like any other")
    func concurrent() throws {
        var bench = try bench()
        let first = try bench.activate("home", client: 2)
        let second = try bench.activate("page", client: 2)
        bench.answer("auth")
        for board in ["home", "page"] { bench.answer(board) }
        #expect([first, second].map(bench.outcome) == Array(repeating: .completed(done: true, output: nil), count: 2))
    }

    @Test(
        "A8: an activation that names its run fails with the cycle, even from a program that already waits for the run")
    func named() throws {
        var bench = try bench()
        try bench.activate("home")
        let within = bench.runs[0].activation
        let inner = try bench.activate("page") { ($0.client, $0.within) = (nil, within) }
        let other = try bench.activate("page") { $0.client = nil }
        #expect(bench.outcome(of: inner) == .cycle(["page", "auth", "page"]))
        #expect(bench.outcome(of: other) == nil)
    }
}
