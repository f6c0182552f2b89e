import HeadgateTransport
import Testing

@Suite struct LoopTimerTests {
    @Test("timers fire in the order of their deadlines, never early")
    func order() throws {
        var fired: [Int] = []
        var timers: [LoopTimer] = []
        try onLoop { loop in
            let start = loop.monotonicNow
            let delays = [5, 1, 3, 2, 4]
            for delay in delays {
                let due = start + Int64(delay) * 3_000_001
                let timer = LoopTimer(on: loop) {
                    #expect(loop.monotonicNow >= due)
                    fired.append(delay)
                    if fired.count == delays.count { loop.stop() }
                }
                timer.arm(at: due)
                #expect(timer.deadline == due)
                timers.append(timer)
            }
        }
        #expect(fired == [1, 2, 3, 4, 5])
        #expect(timers.allSatisfy { $0.deadline == nil })
    }

    @Test("a cancelled timer does not fire, and can be armed again")
    func cancelAndArmAgain() throws {
        var fired = 0
        var timers: [LoopTimer] = []
        try onLoop { loop in
            let cancelled = LoopTimer(on: loop) { Issue.record("fired although cancelled") }
            cancelled.arm(after: .milliseconds(1))
            cancelled.cancel()
            #expect(cancelled.deadline == nil)
            let revived = LoopTimer(on: loop) { fired += 1 }
            revived.arm(after: .milliseconds(1))
            revived.cancel()
            revived.arm(after: .milliseconds(2))
            let last = LoopTimer(on: loop) { loop.stop() }
            last.arm(after: .milliseconds(20))
            timers = [cancelled, revived, last]
        }
        #expect(fired == 1)
        #expect(timers.allSatisfy { $0.deadline == nil })
    }

    @Test("arming again moves the deadline, and one timer fires many times by arming itself, for now too")
    func rearm() throws {
        var fired = 0
        try onLoop { loop in
            var timer: LoopTimer?
            timer = LoopTimer(on: loop) {
                fired += 1
                #expect(timer?.deadline == nil)
                if fired < 10 { return timer?.arm(after: .zero) ?? () }
                timer = nil
                loop.stop()
            }
            timer?.arm(after: .seconds(3600))
            timer?.arm(at: 0)
        }
        #expect(fired == 10)
    }

    @Test("timers that arm new ones for now let the loop go on")
    func freshTimersForNow() throws {
        var timers: [LoopTimer] = []
        var isStopped = false
        try onLoop { loop in
            func again() {
                guard !isStopped else { return }
                timers.append(LoopTimer(on: loop, again))
                timers.last?.arm(after: .zero)
            }
            again()
            loop.submit { loop.stop() }
            let bound = LoopTimer(on: loop) { isStopped = true }
            bound.arm(after: .seconds(30))
            timers.append(bound)
        }
        // Stopped from outside, and not by running out of patience.
        #expect(!isStopped)
    }

    @Test("a timer that has gone does not fire")
    func goneTimer() throws {
        var last: LoopTimer?
        try onLoop { loop in
            LoopTimer(on: loop) { Issue.record("fired although gone") }.arm(after: .zero)
            last = LoopTimer(on: loop) { loop.stop() }
            last?.arm(after: .milliseconds(10))
        }
    }

    @Test("a timer may go on another thread")
    func goneElsewhere() async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        await withCheckedContinuation { continuation in
            loop.submit {
                // It goes with the closure, on the thread that is detached below.
                nonisolated(unsafe) let timer = LoopTimer(on: loop) { Issue.record("fired although gone") }
                timer.arm(after: .seconds(36_000))
                Task.detached {
                    withExtendedLifetime(timer) {}
                    continuation.resume()
                }
            }
        }
        loop.stop()
        await loop.waitUntilClosed()
    }
}
