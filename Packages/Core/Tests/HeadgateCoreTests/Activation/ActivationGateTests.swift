import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("A board before a dispatcher")
struct ActivationGateTests {
    private let boards = ScriptedBoards()

    private func bench(
        sticky: Duration? = nil, outputs: Set<String> = [], _ change: (inout DispatcherSettings) -> Void = { _ in }
    ) -> GateBench {
        var settings = DispatcherSettings(id: "collect")
        settings.activationBarrier = DispatcherActivation(board: "login", sticky: sticky)
        settings.activationBarrier?.outputs = outputs
        change(&settings)
        let bench = GateBench([settings], environment: { [boards] in $0.boardActivator = boards })
        bench.settle()
        return bench
    }

    private static let id = "ActivationGate:collect"

    // MARK: Opening

    @Test(
        "A9, B30: the gate is closed and not flushable until a pending event starts the board and the board completes"
    )
    func opens() throws {
        let bench = bench()
        #expect(boards.requested.isEmpty)
        var gate = try #require(bench.barrier(ActivationGateTests.id))
        #expect(gate.identity.word == "activation" && !gate.isFlushable)
        #expect(gate.states.map(\.state) == [.closed] && gate.configuration == ["board": "login"])
        bench.track(3)
        #expect(boards.requested.map(\.board) == ["login"] && boards.requested.map(\.dispatcher) == ["collect"])
        #expect(bench.sender.sent.isEmpty)
        boards.complete()
        bench.settle()
        #expect(bench.sender.sent == [[1, 2, 3]])
        gate = try #require(bench.barrier(ActivationGateTests.id))
        #expect(gate.states.map(\.state) == [.open] && gate.reason == nil)
    }

    @Test("A9: a flush waits for the board, and then continues by itself")
    func flush() {
        let bench = bench()
        bench.track(1)
        var answers: [FlushAnswer] = []
        _ = bench.gate.flush(timeout: nil) { answers.append($0) }
        bench.settle()
        #expect(bench.sender.sent.isEmpty && answers.isEmpty)
        boards.complete()
        bench.settle()
        bench.sender.answer()
        bench.settle()
        #expect(answers.count == 1)
    }

    @Test("A9: held events are annotated with the reason activation")
    func annotated() {
        let bench = bench()
        bench.track(1)
        boards.complete()
        bench.settle()
        let body = String(decoding: bench.sender.batches[0].body, as: UTF8.self)
        #expect(body.contains(#""queue_reason":"activation""#))
    }

    @Test("A9: after completion the gate stays open, forever without sticky_ms")
    func staysOpen() {
        let bench = bench()
        bench.track(1)
        boards.complete()
        bench.settle()
        bench.sender.answer()
        bench.advance(by: .seconds(1_000_000))
        bench.track(1)
        #expect(bench.sender.sent == [[1], [2]] && boards.requested.count == 1)
    }

    @Test("A9: after sticky_ms the gate closes again, and the next pending event starts the board")
    func sticky() {
        let bench = bench(sticky: .seconds(60))
        bench.track(1)
        boards.complete()
        bench.settle()
        bench.sender.answer()
        bench.settle()
        bench.advance(by: .seconds(60))
        #expect(boards.requested.count == 1)
        bench.track(1)
        #expect(boards.requested.count == 2 && bench.sender.sent == [[1]])
    }

    @Test("A9: a board that ran again because of a 401 counts its sticky_ms from then")
    func stickyAgain() {
        let bench = bench(sticky: .seconds(60))
        bench.track(1)
        boards.complete()
        bench.advance(by: .seconds(30))
        bench.sender.answer(.status(401))
        bench.settle()
        boards.complete()
        bench.settle()
        bench.sender.answer()
        for (seconds, runs) in [(59, 2), (1, 3)] {
            bench.advance(by: .seconds(seconds))
            bench.track(1)
            bench.sender.answer()
            #expect(boards.requested.count == runs)
        }
    }

    @Test("A9: after a restart the board has to complete again")
    func restart() throws {
        let bench = bench()
        bench.track(1)
        boards.complete()
        bench.settle()
        try bench.restart()
        #expect(boards.requested.count == 2 && bench.sender.sent.isEmpty)
    }

    // MARK: Refusals

    @Test(
        "A9: after a refusal the board is started again with a growing backoff, and the cause is shown",
        arguments: [
            (ActivationOutcome.completed(done: false, output: nil), "board login refused"),
            (.failed(ActivationFault(message: "wrong password")), "board login failed: wrong password"),
            (.providerLost, "board login lost the process that serves it"),
            (.timedOut, "board login did not answer in time"),
            (.cancelled(barrier: "gate", cause: .timeout), "board login was cancelled by gate: timeout"),
            (.cycle(["a", "b"]), "board login waits for itself in a circle: a, b"),
        ])
    func refused(outcome: ActivationOutcome, cause: String) {
        let bench = bench()
        bench.track(1)
        boards.end(outcome)
        bench.settle()
        #expect(bench.barrier(ActivationGateTests.id)?.reason == cause)
        bench.track(1)
        bench.advance(by: .milliseconds(499))
        #expect(boards.requested.count == 1)
        bench.advance(by: .milliseconds(1))
        #expect(boards.requested.count == 2)
        boards.end(outcome)
        bench.advance(by: .milliseconds(999))
        #expect(boards.requested.count == 2)
        bench.advance(by: .milliseconds(1))
        #expect(boards.requested.count == 3)
        boards.complete()
        bench.settle()
        #expect(bench.sender.sent == [[1, 2]])
    }

    @Test("A9: completion resets the backoff after a refusal")
    func waitsRestart() {
        let bench = bench(sticky: .seconds(60))
        bench.track(1)
        for milliseconds in [500, 1000] {
            boards.end(.timedOut)
            bench.advance(by: .milliseconds(milliseconds))
        }
        boards.complete()
        bench.settle()
        bench.sender.answer()
        bench.advance(by: .seconds(60))
        bench.track(1)
        boards.end(.timedOut)
        bench.advance(by: .milliseconds(499))
        #expect(boards.requested.count == 4)
        bench.advance(by: .milliseconds(1))
        #expect(boards.requested.count == 5)
    }

    @Test("A9, D5: an operator ends the wait after a refusal, and the next wait is as long as it would be without that")
    func waitEnded() {
        let bench = bench()
        bench.track(1)
        #expect(bench.gate.endBackoff(of: "collect") == false)
        boards.end(.timedOut)
        bench.settle()
        #expect(boards.requested.count == 1 && bench.gate.endBackoff(of: "collect") == true)
        bench.settle()
        #expect(boards.requested.count == 2)
        boards.end(.timedOut)
        bench.advance(by: .milliseconds(999))
        #expect(boards.requested.count == 2)
        bench.advance(by: .milliseconds(1))
        #expect(boards.requested.count == 3)
    }

    @Test("A9: the status shows whether the board runs or is not served")
    func reasons() {
        let bench = bench()
        #expect(bench.barrier(ActivationGateTests.id)?.reason == "board login runs once an event is pending")
        bench.track(1)
        #expect(bench.barrier(ActivationGateTests.id)?.reason == "no client serves board login")
        boards.served = ["login"]
        #expect(bench.barrier(ActivationGateTests.id)?.reason == "board login is running")
    }

    @Test(
        "A9: an output that the dispatcher requires but cannot use counts as a refusal",
        arguments: [nil, [:], ["token": ""], ["token": "a\nb"], ["token": ["a"]], "abc"] as [DataItem?])
    func badOutput(output: DataItem?) {
        let bench = bench(outputs: ["token"])
        bench.track(1)
        boards.complete(output)
        bench.settle()
        #expect(bench.sender.sent.isEmpty)
        #expect(
            bench.barrier(ActivationGateTests.id)?.reason == "board login completed without a usable output `token`")
    }

    @Test("A9: each batch carries the board's output")
    func output() {
        let bench = bench(outputs: ["token"])
        bench.track(1)
        boards.complete(["token": "abc"])
        bench.settle()
        #expect(bench.sender.batches.map(\.output) == [["token": "abc"]])
    }

    // MARK: Changes

    @Test("Removing a dispatcher or changing its board cancels its activation")
    func withdrawn() {
        let bench = bench()
        bench.track(1)
        var settings = bench.dispatchers[0]
        settings.activationBarrier?.board = "other"
        bench.gate.changeDispatcher(settings, kind: "recording", sender: nil, reachesNetwork: false)
        bench.settle()
        #expect(boards.withdrawn == 1 && boards.requested.map(\.board) == ["login", "other"])
        settings.activationBarrier = nil
        bench.gate.changeDispatcher(settings, kind: "recording", sender: nil, reachesNetwork: false)
        bench.settle()
        #expect(boards.inProgress == 0 && bench.barrier(ActivationGateTests.id) == nil && bench.sender.sent == [[1]])
    }

    @Test("Other changes of a dispatcher leave the gate open")
    func unchanged() {
        let bench = bench()
        bench.track(1)
        boards.complete()
        bench.settle()
        bench.sender.answer()
        var settings = bench.dispatchers[0]
        settings.dispatchLimit = 7
        bench.gate.changeDispatcher(settings, kind: "recording", sender: nil, reachesNetwork: false)
        bench.track(1)
        #expect(bench.sender.sent == [[1], [2]] && boards.requested.count == 1)
    }

    @Test("A removed dispatcher's gate is removed, and a restored one must activate the board again")
    func removed() {
        let bench = bench()
        bench.track(1)
        bench.gate.removeDispatcher("collect")
        bench.settle()
        #expect(boards.inProgress == 0 && bench.barrier(ActivationGateTests.id) == nil)
        bench.add(bench.dispatchers[0])
        bench.settle()
        #expect(boards.requested.count == 2 && bench.barrier(ActivationGateTests.id) != nil)
    }
}
