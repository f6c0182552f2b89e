import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Activating boards")
struct ActivationTests {
    @Test("A1: one process that serves the board runs it, and its answer is the outcome", arguments: [true, false])
    func answered(done: Bool) throws {
        var bench = ActivationBench()
        try bench.serve("checkout")
        try bench.serve("checkout", by: 2)
        let activation = try bench.activate("checkout", ["cart": 7], mainboard: "shop")
        let run = try #require(bench.runs.first)
        #expect(bench.runs.count == 1)
        #expect(run.board == "checkout" && run.input == ["cart": 7] && run.mainboard == "shop" && !run.isBarrier)
        #expect(bench.outcome(of: activation) == nil)
        bench.answer("checkout", done: done, output: "paid")
        #expect(bench.outcome(of: activation) == .completed(done: done, output: "paid"))
        #expect(bench.machine.isForgetful)
    }

    @Test("A1: an error of the board's process is the outcome")
    func failed() throws {
        var bench = ActivationBench()
        try bench.serve("checkout")
        let activation = try bench.activate("checkout")
        let fault = ActivationFault(message: "out of paper", error: ["code": 7])
        bench.answer("checkout", with: .failure(fault))
        #expect(bench.outcome(of: activation) == .failed(fault))
    }

    @Test("A1: activating an unserved board fails at once with not_found")
    func notServed() throws {
        var bench = ActivationBench()
        let activation = try bench.activate("checkout")
        #expect(bench.outcome(of: activation) == .notServed)
        #expect(bench.machine.isForgetful)
    }

    @Test("A1: with wait_ms activations wait for a process, which runs them in order of arrival")
    func waitsForProvider() throws {
        var bench = ActivationBench()
        let patient = try (1...3).map { number in
            try bench.activate("checkout", .number(DataNumber(number))) { $0.wait = .seconds(10) }
        }
        let impatient = try bench.activate("checkout") { $0.wait = .seconds(1) }
        bench.pass(.seconds(2))
        #expect(bench.outcome(of: impatient) == .notServed)
        try bench.serve("checkout")
        #expect(bench.runs.map(\.activation) == patient)
        bench.pass(.seconds(10))
        #expect(patient.allSatisfy { bench.outcome(of: $0) == nil })
        for _ in patient { bench.answer("checkout") }
        #expect(bench.ends.suffix(3).allSatisfy { $0.outcome == .completed(done: true, output: nil) })
        #expect(bench.machine.isForgetful)
    }

    @Test("A1: an activation that waits without limit waits until the board is served")
    func waitsWithoutEnd() throws {
        var bench = ActivationBench()
        let activation = try bench.activate("login") { $0.wait = nil }
        #expect(bench.machine.nextDeadline == nil)
        bench.pass(.seconds(100_000))
        try bench.serve("login")
        bench.answer("login")
        #expect(bench.outcome(of: activation) == .completed(done: true, output: nil))
    }

    @Test("A1: a missing answer is a timeout, and a late answer has no effect")
    func timeout() throws {
        var bench = ActivationBench()
        try bench.serve("checkout")
        let activation = try bench.activate("checkout") { $0.timeout = .seconds(5) }
        let run = try #require(bench.runs.first)
        bench.pass(.milliseconds(4_999))
        #expect(bench.outcome(of: activation) == nil)
        bench.pass(.milliseconds(1))
        #expect(bench.outcome(of: activation) == .timedOut)
        #expect(bench.withdrawn == [run.run])
        let late = bench.machine.answered(run.run, by: 1, with: .success(BoardResult(done: true)), at: bench.now)
        #expect(late.isEmpty)
        #expect(bench.machine.isForgetful)
    }

    @Test("A1: timeout_ms counts from the request to the process, not while a barrier holds the board")
    func timeoutBehindBarrier() throws {
        var bench = ActivationBench()
        try bench.serve("auth")
        try bench.serve("checkout", behind: ActivationBarrier(board: "auth"))
        let activation = try bench.activate("checkout") { $0.timeout = .seconds(5) }
        bench.pass(.seconds(20))
        #expect(bench.running == ["auth"] && bench.outcome(of: activation) == nil)
        bench.answer("auth")
        bench.pass(.milliseconds(4_999))
        #expect(bench.running == ["checkout"] && bench.outcome(of: activation) == nil)
        bench.pass(.milliseconds(1))
        #expect(bench.outcome(of: activation) == .timedOut)
    }

    @Test("A1: the default timeout is 30 seconds")
    func defaultTimeout() throws {
        var bench = ActivationBench()
        try bench.serve("checkout")
        let activation = try bench.activate("checkout")
        bench.pass(.milliseconds(29_999))
        #expect(bench.outcome(of: activation) == nil)
        bench.pass(.milliseconds(1))
        #expect(bench.outcome(of: activation) == .timedOut)
    }

    @Test("A1: if the process disconnects during a run, the activation ends with provider_lost, and others continue")
    func providerLost() throws {
        var bench = ActivationBench()
        try bench.serve("checkout", by: 1)
        try bench.serve("checkout", by: 2)
        let lost = try bench.activate("checkout")
        let kept = try bench.activate("checkout")
        #expect(bench.runs.map(\.provider) == [1, 2])
        bench.providerLeaves(1)
        #expect(bench.outcome(of: lost) == .providerLost)
        bench.answer("checkout")
        #expect(bench.outcome(of: kept) == .completed(done: true, output: nil))
        #expect(bench.machine.isForgetful)
    }

    @Test("A1: of several processes the least busy one gets the run, and among equals the one with the oldest last run")
    func fairness() throws {
        var bench = ActivationBench()
        for provider in 1...3 { try bench.serve("checkout", by: provider) }
        for _ in 1...6 { try bench.activate("checkout") }
        #expect(bench.runs.map(\.provider) == [1, 2, 3, 1, 2, 3])
        bench.answer("checkout")  // This is the first run of process 1.
        try bench.activate("checkout")
        #expect(bench.runs.last?.provider == 1)
    }

    @Test("A1: a process that stops serving a board may finish its runs, and gets no new ones")
    func unserve() throws {
        var bench = ActivationBench()
        try bench.serve("checkout")
        let activation = try bench.activate("checkout")
        let wasServed = [bench.machine.unserve("checkout", by: 1), bench.machine.unserve("checkout", by: 1)]
        #expect(wasServed == [true, false])
        let late = try bench.activate("checkout")
        #expect(bench.outcome(of: late) == .notServed)
        bench.answer("checkout")
        #expect(bench.outcome(of: activation) == .completed(done: true, output: nil))
        #expect(bench.machine.peers.isEmpty && bench.machine.boards.isEmpty)
    }

    @Test("A1: an answer from a process that was not asked has no effect")
    func foreignAnswer() throws {
        var bench = ActivationBench()
        try bench.serve("checkout", by: 1)
        try bench.serve("other", by: 2)
        let activation = try bench.activate("checkout")
        let run = try #require(bench.runs.first)
        let orders = bench.machine.answered(run.run, by: 2, with: .success(BoardResult(done: true)), at: bench.now)
        #expect(orders.isEmpty)
        #expect(bench.outcome(of: activation) == nil)
    }

    @Test("If a client disconnects, its activations are cancelled at any stage")
    func clientLeaves() throws {
        var bench = ActivationBench()
        try bench.serve("checkout", behind: ActivationBarrier(board: "auth"))
        try bench.serve("auth")
        try bench.serve("plain")
        try bench.activate("checkout")
        try bench.activate("plain")
        try bench.activate("nobody") { $0.wait = .seconds(10) }
        #expect(bench.running == ["auth", "plain"])
        bench.clientLeaves()
        #expect(bench.running.isEmpty)
        #expect(bench.ends.map(\.outcome) == [.withdrawn, .withdrawn, .withdrawn])
        #expect(bench.machine.isForgetful)
    }

    @Test("X2: the activations and the served boards of a connection are limited")
    func limits() throws {
        var limits = ActivationLimits()
        limits.activationsPerConnection = 2
        limits.boardsPerConnection = 1
        var bench = ActivationBench(limits: limits)
        try bench.serve("checkout")
        try bench.serve("checkout")
        #expect(throws: ServingRefusal.tooMany(1)) { try bench.serve("other") }
        try bench.activate("checkout")
        try bench.activate("checkout")
        #expect(throws: TooManyActivations(limit: 2)) { try bench.activate("checkout") }
        try bench.activate("checkout", client: 200)
        bench.answer("checkout")
        try bench.activate("checkout")
    }
}
