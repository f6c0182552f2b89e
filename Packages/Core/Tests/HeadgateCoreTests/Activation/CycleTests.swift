import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Cycles of barriers")
struct CycleTests {
    private func bench(_ change: (inout ActivationBarrier) -> Void = { _ in }) throws -> ActivationBench {
        var bench = ActivationBench()
        var barrier = ActivationBarrier(board: "auth")
        change(&barrier)
        try bench.serve("auth", by: 9)
        try bench.serve("checkout", behind: barrier)
        return bench
    }

    // MARK: A4

    @Test("A4: the first activation starts the barrier with its input, others join, and all are released in order")
    func joining() throws {
        var bench = try bench()
        let activations = try (1...5).map { try bench.activate("checkout", .number(DataNumber($0))) }
        #expect(bench.runs.map(\.input) == [1])
        #expect(bench.running == ["auth"])
        bench.answer("auth")
        #expect(bench.runs.map(\.activation) == activations)
    }

    @Test("A4: a barrier that answers false cancels all waiting activations in order, and runs none")
    func cancelsAll() throws {
        var bench = try bench()
        let activations = try (1...3).map { _ in try bench.activate("checkout") }
        bench.answer("auth", done: false)
        #expect(bench.ends.map(\.activation) == activations)
        #expect(bench.running.isEmpty && bench.machine.isForgetful)
    }

    @Test("A4: an activation after the release belongs to the next cycle")
    func nextCycle() throws {
        var bench = try bench()
        try bench.activate("checkout")
        bench.answer("auth")
        try bench.activate("checkout")
        #expect(bench.running == ["checkout", "auth"])
    }

    @Test("A4: an activation after a refusal belongs to the next cycle")
    func refusalForgotten() throws {
        var bench = try bench { $0.sticky = .seconds(60) }
        try bench.activate("checkout")
        bench.answer("auth", done: false)
        try bench.activate("checkout")
        #expect(bench.running == ["auth"])
    }

    @Test("A4: a waiting activation that disconnects is skipped, and the cycle continues for the others")
    func waiterLeaves() throws {
        var bench = try bench()
        let first = try bench.activate("checkout")
        let second = try bench.activate("checkout")
        bench.cancel(first)
        #expect(bench.running == ["auth"])
        bench.answer("auth")
        #expect(bench.runs.map(\.activation) == [second])
    }

    @Test("A4, X2: activations that disconnected while waiting leave no state")
    func goneWaitersAreForgotten() throws {
        var bench = try bench()
        let first = try bench.activate("checkout", client: 1)
        for _ in 1...1_000 {
            try bench.activate("checkout", client: 2)
            let third = try bench.activate("checkout", client: 3)
            bench.cancel(third)
            bench.clientLeaves(2)
        }
        let last = try bench.activate("checkout", client: 4)
        #expect(bench.machine.cycles.values.map { $0.waiters.map(\.activation) } == [[first, last]])
        #expect(bench.machine.activations.count == 3)
        bench.answer("auth")
        #expect(bench.runs.map(\.activation) == [first, last])
    }

    @Test("A4: after waiting activations disconnect at any position, the others are released in order")
    func anyWaiterLeaves() throws {
        var bench = try bench()
        let activations = try (1...6).map { _ in try bench.activate("checkout") }
        for index in [2, 0, 5, 3] { bench.cancel(activations[index]) }
        let late = try bench.activate("checkout")
        bench.answer("auth")
        #expect(bench.runs.map(\.activation) == [activations[1], activations[4], late])
    }

    @Test("A4: sticky_ms of a disconnected activation does not affect later ones")
    func stickyOfOneWhoIsGone() throws {
        var bench = try bench { $0.sticky = .seconds(60) }
        try bench.serve("strict", behind: ActivationBarrier(board: "auth"))
        let gone = try bench.activate("checkout")
        try bench.activate("strict")
        bench.cancel(gone)
        bench.answer("auth")
        #expect(bench.machine.completed.isEmpty)
    }

    @Test("A4: a completion counts for sticky_ms, for the same identity only")
    func sticky() throws {
        var bench = try bench { $0.sticky = .seconds(60) }
        try bench.activate("checkout", mainboard: "shop")
        bench.answer("auth")
        bench.answer("checkout")
        bench.pass(.seconds(59))
        try bench.activate("checkout", mainboard: "shop")
        #expect(bench.running == ["checkout"])
        try bench.activate("checkout", mainboard: "till")
        #expect(bench.running == ["checkout", "auth"])
        bench.pass(.seconds(1))
        try bench.activate("checkout", mainboard: "shop")
        #expect(bench.running == ["checkout", "auth", "auth"])
    }

    @Test("A4: each activation accepts completions as old as its own sticky_ms, and without it none")
    func stickyOfEach() throws {
        var bench = try bench { $0.sticky = .seconds(60) }
        var short = ActivationBarrier(board: "auth")
        try bench.serve("strict", behind: short)
        short.sticky = .seconds(5)
        try bench.serve("careful", behind: short)
        try bench.activate("checkout")
        bench.answer("auth")
        bench.answer("checkout")
        bench.pass(.seconds(5))
        try bench.activate("checkout")
        try bench.activate("careful")
        try bench.activate("strict")
        #expect(bench.running == ["checkout", "auth"])
        bench.clientLeaves()
        bench.pass(.seconds(60))
        #expect(bench.machine.isForgetful)
    }

    @Test("A4: the completions remembered for sticky_ms are bounded")
    func stickyBounded() {
        var completed = CompletedBarriers(mostWeight: 1000)
        let now = Instant(nanoseconds: 0)
        let identities = (1...10).map { identity(of: "auth\($0)") }
        for (index, identity) in identities.enumerated() {
            completed.remember(identity, at: now, for: .seconds(60 + index))
        }
        let remembered = identities.filter { completed.hasCompleted($0, within: .seconds(60), at: now) }
        #expect(remembered == identities.suffix(3))
    }

    private func identity(of board: String) -> CycleIdentity {
        let request = ActivationRequest(board: "checkout", mainboard: "main")
        let activation = Activation(id: 1, request: request, purpose: .asker, depth: 0)
        return CycleIdentity(ActivationBarrier(board: board), before: activation)
    }

    // MARK: A5

    @Test("A5: a barrier that times out cancels all waiting activations, and its late answer has no effect")
    func timeout() throws {
        var bench = try bench { $0.timeout = .seconds(5) }
        let activation = try bench.activate("checkout")
        let run = try #require(bench.runs.first)
        bench.pass(.seconds(5))
        #expect(bench.outcome(of: activation) == .cancelled(barrier: "auth", cause: .timeout))
        #expect(bench.withdrawn == [run.run])
        try bench.activate("checkout")
        let late = bench.machine.answered(run.run, by: 9, with: .success(BoardResult(done: true)), at: bench.now)
        #expect(late.isEmpty && bench.running == ["auth"])
    }

    @Test("A5: the default timeout of a barrier is 30 seconds")
    func defaultTimeout() throws {
        var bench = try bench()
        let activation = try bench.activate("checkout")
        bench.pass(.milliseconds(29_999))
        #expect(bench.outcome(of: activation) == nil)
        bench.pass(.milliseconds(1))
        #expect(bench.outcome(of: activation) == .cancelled(barrier: "auth", cause: .timeout))
    }

    @Test("A5: on timeout, activations with on_timeout pass continue")
    func passes() throws {
        var bench = try bench { $0.timeout = .seconds(5) }
        var passing = ActivationBarrier(board: "auth")
        passing.onTimeout = .pass
        try bench.serve("poster", behind: passing)
        let checkout = try bench.activate("checkout")
        try bench.activate("poster")
        bench.pass(.seconds(5))
        #expect(bench.outcome(of: checkout) == .cancelled(barrier: "auth", cause: .timeout))
        #expect(bench.running == ["poster"])
    }

    @Test("A4, A5: a barrier passed on timeout has not completed, so sticky_ms does not apply")
    func passedIsNotSticky() throws {
        var bench = try bench {
            $0.timeout = .seconds(5)
            $0.onTimeout = .pass
            $0.sticky = .seconds(60)
        }
        try bench.activate("checkout")
        bench.pass(.seconds(5))
        #expect(bench.running == ["checkout"])
        try bench.activate("checkout")
        #expect(bench.running == ["checkout", "auth"])
    }

    @Test("A5: a barrier's timeout includes the run of its own barrier")
    func nestedTimeout() throws {
        var bench = ActivationBench()
        var slow = ActivationBarrier(board: "network")
        slow.timeout = .seconds(60)
        try bench.serve("network")
        try bench.serve("auth", behind: slow)
        try bench.serve("checkout", behind: ActivationBarrier(board: "auth"))
        let activation = try bench.activate("checkout")
        bench.pass(.seconds(30))
        #expect(bench.outcome(of: activation) == .cancelled(barrier: "auth", cause: .timeout))
        #expect(bench.running.isEmpty && bench.machine.isForgetful)
    }

    // MARK: A6

    @Test("A6: if the barrier's process disconnects, another one gets the run, and the timeout does not restart")
    func passOn() throws {
        var bench = try bench()
        try bench.serve("auth", by: 8)
        let activation = try bench.activate("checkout")
        let first = try #require(bench.runs.first)
        bench.pass(.seconds(20))
        bench.providerLeaves(first.provider)
        let second = try #require(bench.runs.first)
        #expect(second.provider != first.provider && second.run != first.run)
        #expect(second.activation == first.activation && second.board == "auth")
        #expect(bench.outcome(of: activation) == nil)
        bench.pass(.seconds(10))
        #expect(bench.outcome(of: activation) == .cancelled(barrier: "auth", cause: .timeout))
    }

    @Test("A6: if the barrier's only process disconnects, waiting activations are cancelled with cause provider_lost")
    func providerLost() throws {
        var bench = try bench()
        let activations = try (1...3).map { _ in try bench.activate("checkout") }
        bench.providerLeaves(9)
        for activation in activations {
            #expect(bench.outcome(of: activation) == .cancelled(barrier: "auth", cause: .providerLost))
        }
        #expect(bench.machine.isForgetful)
    }

    @Test("A6: a process that both runs the barrier and waits for it leaves no state")
    func selfServing() throws {
        var bench = try bench()
        try bench.activate("checkout", client: 9)
        let other = try bench.activate("checkout")
        bench.clientLeaves(9)
        bench.providerLeaves(9)
        #expect(bench.outcome(of: other) == .cancelled(barrier: "auth", cause: .providerLost))
        #expect(bench.ends.count == 2 && bench.machine.isForgetful)
    }
}
