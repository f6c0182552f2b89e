import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("Dispatchers that leave while something is on its way")
struct LeavingTests {
    private func bench(_ limits: StoreLimits = StoreLimits()) -> GateBench {
        GateBench(limits: limits) {
            $0.inFlight = 2
            $0.dispatchLimit = 1
        }
    }

    private func comeBack(_ bench: GateBench) {
        bench.add(bench.dispatchers[0])
        bench.settle()
    }

    @Test("Q3: what is on its way finishes, and the rest comes back with the dispatcher")
    func finishes() throws {
        let bench = bench()
        bench.track(3)
        let old = bench.sender
        bench.gate.removeDispatcher("collect")
        bench.settle()
        old.answer()
        old.answer()
        bench.settle()
        #expect(old.isClosed)
        #expect(old.sent == [[1], [2]])
        #expect(bench.gate.stored.events == 1)
        comeBack(bench)
        #expect(bench.sender.sent == [[3]])
    }

    @Test("Q3: coming back before that is done never takes back what is settled")
    func comesBackEarly() throws {
        let bench = bench()
        bench.track(3)
        let old = bench.sender
        bench.gate.removeDispatcher("collect")
        bench.settle()
        old.answer()
        bench.settle()
        comeBack(bench)
        #expect(bench.sender.sent == [[3]])
        try bench.restart()
        #expect(bench.sender.sent == [[2], [3]])
    }

    @Test("Q3: what is on its way is not given up, however short the retention, and is counted once")
    func staysInFlight() {
        var limits = StoreLimits()
        limits.orphanRetention = .zero
        let bench = bench(limits)
        bench.add(DispatcherSettings(id: "other"))
        bench.track(2, EventDraft(dispatchers: ["collect"]))
        let old = bench.sender
        bench.gate.removeDispatcher("collect")
        bench.settle()
        bench.track(1, EventDraft(dispatchers: ["other"]))
        bench.advance(by: .seconds(61))
        old.answer()
        old.answer()
        bench.advance(by: .seconds(61))
        #expect(bench.counters[.delivered] == 2)
        #expect(bench.counters[.expired] == 0)
        #expect(bench.gate.stored.events == 1)
        comeBack(bench)
        bench.track(2, EventDraft(dispatchers: ["collect"]))
        #expect(bench.sender.sent == [[4], [5]])
    }
}
