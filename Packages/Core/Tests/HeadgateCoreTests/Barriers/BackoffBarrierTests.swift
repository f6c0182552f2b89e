import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import Testing

@Suite("BackoffBarrier")
struct BackoffBarrierTests {
    let bench = GateBench()

    @Test("B28, D8: during a backoff the barrier is closed, with the cause and the end")
    func closedWhileWaiting() throws {
        bench.track(1)
        let start = bench.scheduler.wall
        bench.sender.answer(.status(503))
        bench.settle()
        let summary = try #require(bench.barrier("BackoffBarrier:collect"))
        #expect(summary.states.map(\.state) == [.closed])
        #expect(summary.reason == "HTTP 503")
        #expect(bench.summary().blockedBy == ["BackoffBarrier:collect"])
        #expect(bench.summary().retryAt == Timestamp(milliseconds: start.milliseconds + 500))
        #expect(bench.summary().lastError == "HTTP 503")
        bench.advance(by: .milliseconds(499))
        #expect(bench.sender.sent.count == 1)
        bench.advance(by: .milliseconds(1))
        #expect(bench.sender.sent == [[1], [1]])
        #expect(bench.summary().retryAt == nil)
        #expect(try #require(bench.barrier("BackoffBarrier:collect")).states.map(\.state) == [.open])
    }

    @Test("B28: the BackoffBarrier always exists, is open by default, and is never flushable")
    func neverFlushable() throws {
        let summary = try #require(bench.barrier("BackoffBarrier:collect"))
        #expect(summary.states.map(\.state) == [.open])
        #expect(!summary.isFlushable)
        bench.track(1)
        bench.sender.answer(.status(503))
        _ = bench.gate.flush(timeout: nil) { _ in }
        bench.settle()
        #expect(bench.sender.sent.count == 1)
        bench.advance(by: .milliseconds(500))
        #expect(bench.sender.sent.count == 2)
    }

    @Test("D5: a second failure never shortens a running wait")
    func longestWaitHolds() {
        let bench = GateBench {
            $0.inFlight = 2
            $0.dispatchLimit = 1
        }
        bench.track(2)
        bench.sender.answer(.status(503, retryAfter: .seconds(60)))
        bench.sender.answer(.status(503))
        bench.advance(by: .seconds(59))
        #expect(bench.sender.sent.count == 2)
        bench.advance(by: .seconds(1))
        #expect(bench.sender.sent.count == 4)
    }
}
