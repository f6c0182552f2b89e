import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("Pausing")
struct ManualBarrierTests {
    let bench = GateBench([DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")])

    private func pause(isFlushable: Bool = false, reason: String? = nil) {
        #expect(bench.gate.pause("collect", reason: reason, isFlushable: isFlushable) { _ in })
        bench.settle()
    }

    @Test("B23: pause blocks one dispatcher, and resume opens it")
    func pauseAndResume() {
        pause()
        bench.track(1)
        #expect(bench["collect"].sent.isEmpty)
        #expect(bench["archive"].sent == [[1]])
        #expect(bench.summary().blockedBy == ["ManualBarrier:collect"])
        #expect(bench.gate.resume("collect") { _ in })
        bench.settle()
        #expect(bench["collect"].sent == [[1]])
    }

    @Test("B23: a flush passes a pause only if the pause is flushable", arguments: [false, true])
    func flushablePause(isFlushable: Bool) {
        pause(isFlushable: isFlushable)
        bench.track(1)
        _ = bench.gate.flush(dispatchers: ["collect"], timeout: nil) { _ in }
        bench.settle()
        #expect(bench["collect"].sent == (isFlushable ? [[1]] : []))
    }

    @Test("B23: making a flushable pause firm never lets a flush pass in between")
    func firmAgain() {
        pause(isFlushable: true)
        pause(isFlushable: false)
        bench.track(1)
        _ = bench.gate.flush(timeout: nil) { _ in }
        bench.settle()
        #expect(bench["collect"].sent.isEmpty)
    }

    @Test(
        "B10, B23: a pause survives a restart with its time, reason and flushability",
        arguments: [nil, "", "moving house: über 3 %"])
    func survives(reason: String?) throws {
        pause(isFlushable: true, reason: reason)
        let since = try #require(bench.barrier("ManualBarrier:collect")).since
        bench.advance(by: .seconds(60))
        try bench.restart()
        bench.track(1)
        #expect(bench["collect"].sent.isEmpty)
        let summary = try #require(bench.barrier("ManualBarrier:collect"))
        #expect(summary.reason == reason)
        #expect(summary.isFlushable && summary.since == since)
        #expect(summary.states.map(\.state) == [.closed])
    }

    @Test("B23: a resume survives a restart")
    func resumeSurvives() throws {
        pause()
        _ = bench.gate.resume("collect") { _ in }
        bench.settle()
        try bench.restart()
        bench.track(1)
        #expect(bench["collect"].sent == [[1]])
    }

    @Test("B23: the answer comes when the pause is stored, or reports why it is not")
    func answered() {
        var answers: [StoreFault?] = []
        bench.store.memory.fault = .noRoom("full")
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { answers.append($0) }
        #expect(answers.isEmpty)
        bench.settle()
        #expect(answers == [.noRoom("full")])
        bench.store.memory.fault = nil
        bench.advance(by: .seconds(1))
        #expect(bench.gate.resume("collect") { answers.append($0) })
        bench.settle()
        #expect(answers == [.noRoom("full"), nil])
    }

    @Test("B23: an unknown id cannot be paused")
    func unknown() {
        #expect(!bench.gate.pause("nobody", reason: nil, isFlushable: false) { _ in })
        #expect(!bench.gate.resume("nobody") { _ in })
    }
}
