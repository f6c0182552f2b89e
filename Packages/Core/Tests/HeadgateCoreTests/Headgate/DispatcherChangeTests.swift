import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Dispatchers that change while the service runs")
struct DispatcherChangeTests {
    private func change(_ bench: GateBench, to sender: RecordingSender?, _ edit: (inout DispatcherSettings) -> Void) {
        var settings = DispatcherSettings(id: "collect")
        edit(&settings)
        bench.gate.changeDispatcher(settings, kind: "recording", sender: sender, reachesNetwork: false)
        bench.settle()
    }

    @Test("S3: batches in flight end with their old sender, and nothing is lost or sent twice")
    func senderIsReplaced() {
        let bench = GateBench { $0.dispatchLimit = 2 }
        bench.track(5)
        let old = bench.sender
        let new = RecordingSender(scheduler: bench.scheduler)
        change(bench, to: new) { $0.dispatchLimit = 3 }
        #expect(old.sent == [[1, 2]])
        #expect(!old.isClosed)
        #expect(new.sent == [])
        old.answer()
        bench.settle()
        #expect(old.isClosed)
        #expect(new.sent == [[3, 4, 5]])
        new.answer()
        bench.settle()
        #expect(bench.counters[.delivered] == 5)
        #expect(bench.gate.stored == .zero)
    }

    @Test("S3: a failed batch of the old sender is retried by the new one, with its attempt charged")
    func retryByTheNewSender() {
        let bench = GateBench()
        bench.track(1)
        let new = RecordingSender(scheduler: bench.scheduler)
        let old = bench.sender
        change(bench, to: new) { _ in }
        old.answer(.status(500))
        bench.advance(by: .seconds(1))
        #expect(new.sent == [[1]])
        #expect(String(decoding: new.batches[0].body, as: UTF8.self).contains(#""attempt":2"#))
        #expect(old.isClosed)
    }

    @Test("S3: without a new sender the present one stays open")
    func senderStays() {
        let bench = GateBench()
        change(bench, to: nil) { $0.dispatchLimit = 1 }
        bench.track(2)
        #expect(bench.sender.sent == [[1]])
        #expect(!bench.sender.isClosed)
    }

    @Test("B23, D7: an answer to a batch in flight does not end an operator's pause")
    func pauseBeneathHold() {
        let bench = GateBench()
        bench.track(1)
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.sender.answer(.status(401, .notAllowed))
        bench.settle()
        change(bench, to: nil) { _ in }
        #expect(bench.sender.sent == [[1]])
        #expect(bench.summary().blockedBy == ["ManualBarrier:collect"])
        _ = bench.gate.resume("collect") { _ in }
        bench.settle()
        #expect(bench.sender.sent == [[1], [1]])
    }

    @Test("D7: a change of settings ends the block after 401, but not an operator's pause")
    func changeEndsTheHold() {
        let bench = GateBench()
        bench.track(1)
        bench.sender.answer(.status(401, .notAllowed))
        bench.settle()
        #expect(bench.summary().blockedBy == ["ManualBarrier:collect"])
        change(bench, to: nil) { _ in }
        #expect(bench.sender.sent == [[1], [1]])
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.settle()
        change(bench, to: nil) { _ in }
        #expect(bench.summary().blockedBy == ["ManualBarrier:collect"])
    }

    @Test("B23, D7: an operator's pause added to the block after 401 survives a change of settings")
    func pausedOverTheHold() {
        let bench = GateBench()
        bench.track(1)
        bench.sender.answer(.status(401, .notAllowed))
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.settle()
        change(bench, to: nil) { _ in }
        #expect(bench.summary().blockedBy == ["ManualBarrier:collect"] && bench.sender.sent == [[1]])
    }

    @Test("S3: each replaced sender is closed when its own batches have ended")
    func replacedTwice() {
        let bench = GateBench { $0.dispatchLimit = 1 }
        bench.track(2)
        let senders = [bench.sender, RecordingSender(scheduler: bench.scheduler)]
        for sender in [senders[1], RecordingSender(scheduler: bench.scheduler)] {
            change(bench, to: sender) {
                $0.dispatchLimit = 1
                $0.inFlight = 2
            }
        }
        #expect(senders.map(\.sent) == [[[1]], [[2]]])
        senders[1].answer()
        bench.settle()
        #expect(senders.map(\.isClosed) == [false, true])
        senders[0].answer()
        bench.settle()
        #expect(senders[0].isClosed)
    }

    @Test("Q3: a removed dispatcher finishes its batches in flight, and gets its queue back when restored")
    func removedAndBack() {
        let bench = GateBench { $0.dispatchLimit = 2 }
        bench.track(5)
        let old = bench.sender
        bench.gate.removeDispatcher("collect")
        bench.settle()
        #expect(bench.gate.dispatchers.ids == [])
        #expect(!bench.gate.barrierSummaries.contains { $0.identity.id.hasSuffix(":collect") })
        old.answer()
        bench.settle()
        #expect(old.isClosed)
        #expect(bench.counters[.delivered] == 2)
        #expect(bench.gate.stored.events == 3)
        bench.add(DispatcherSettings(id: "collect"))
        bench.settle()
        #expect(bench.sender.sent == [[3, 4, 5]])
    }

    @Test("Q3: a dispatcher restored before its batches ended continues with them")
    func backBeforeItLeft() {
        let bench = GateBench { $0.dispatchLimit = 2 }
        bench.track(3)
        let old = bench.sender
        bench.gate.removeDispatcher("collect")
        bench.settle()
        bench.add(DispatcherSettings(id: "collect"))
        bench.settle()
        #expect(bench.sender.sent == [])
        old.answer()
        bench.settle()
        bench.sender.answer()
        bench.settle()
        #expect(bench.counters[.delivered] == 3)
        #expect(bench.sender.sent == [[3]])
        #expect(old.isClosed)
    }

    @Test("D11: a stop waits for batches of removed dispatchers and replaced senders")
    func stopWaitsForLeaving() {
        let bench = GateBench()
        bench.track(1)
        let old = bench.sender
        bench.gate.removeDispatcher("collect")
        var isStopped = false
        bench.gate.stop(within: .seconds(5), flushing: false) { _ in isStopped = true }
        bench.settle()
        #expect(!isStopped)
        old.answer()
        bench.settle()
        #expect(isStopped)
        #expect(bench.counters[.delivered] == 1)
    }
}
