import CUV
import Foundation
import Synchronization
import Testing

@testable import HeadgateTransport

@Suite struct EventLoopTests {
    @Test("work from eight threads runs on the loop, in the order of each thread")
    func submissionsKeepTheirOrder() async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        let seen = Guarded<[[Int]]>(Array(repeating: [], count: 8))
        let left = Atomic(8 * 10_000)
        for thread in 0..<8 {
            Thread.detachNewThread {
                for number in 0..<10_000 {
                    loop.submit {
                        loop.preconditionCurrent()
                        seen.withLock { $0[thread].append(number) }
                        if left.subtract(1, ordering: .relaxed).newValue == 0 { loop.stop() }
                    }
                }
            }
        }
        await loop.waitUntilClosed()
        #expect(seen.withLock { $0 }.allSatisfy { $0 == Array(0..<10_000) })
    }

    @Test("a flood of work does not starve timers and sockets")
    func floodIsBounded() throws {
        let ran = Atomic(0)
        var ranBeforeTimer: Int?
        var timer: LoopTimer?
        try onLoop { loop in
            for _ in 0..<10_000 { loop.submit { ran.add(1, ordering: .relaxed) } }
            loop.stop()
            timer = LoopTimer(on: loop) { ranBeforeTimer = ran.load(ordering: .relaxed) }
            // Armed in the past, after the first turn has taken its share of the flood. A timer for now may become due
            // a millisecond later.
            loop.atEndOfTurn { timer?.arm(at: 0) }
        }
        #expect(ran.load(ordering: .relaxed) == 10_000)
        #expect(ranBeforeTimer.map { $0 < 10_000 } == true)
    }

    @Test("a polling loop is woken by other threads, serves its timers, and ends")
    func pollsBeforeItSleeps() async throws {
        let loops = try (0..<2).map { try EventLoop.onNewThread(named: "test-\($0)") }
        let left = Atomic(3)
        let passed = Atomic(0)
        let ended = { @Sendable in
            if left.subtract(1, ordering: .relaxed).newValue == 0 { for loop in loops { loop.stop() } }
        }
        for loop in loops {
            loop.submit {
                loop.isBusyPolling = true
                var timer: LoopTimer?
                timer = LoopTimer(on: loop) {
                    timer = nil
                    ended()
                }
                timer?.arm(after: .milliseconds(1))
            }
        }
        @Sendable func pass(_ left: Int) {
            loops[left % 2].submit {
                passed.add(1, ordering: .relaxed)
                left == 0 ? ended() : pass(left - 1)
            }
        }
        pass(5_000)
        for loop in loops { await loop.waitUntilClosed() }
        #expect(passed.load(ordering: .relaxed) == 5_001)
    }

    @Test("a loop stopped before its start runs the submitted work, and ends")
    func stopBeforeRun() throws {
        let ran = Atomic(0)
        try onLoop { loop in
            loop.submit { ran.add(1, ordering: .relaxed) }
            loop.stop()
        }
        #expect(ran.load(ordering: .relaxed) == 1)
    }

    @Test("a loop that never ran is closed when it is released")
    func neverRun() throws {
        weak var forgotten: EventLoop?
        do {
            let loop = try EventLoop()
            forgotten = loop
            LoopTimer(on: loop) {}.arm(after: .seconds(1))
            #expect(loop.isCurrent)
        }
        #expect(forgotten == nil)
    }

    @Test("work submitted after the end still runs, one item at a time")
    func lateWork() async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        loop.stop()
        await loop.waitUntilClosed()
        let (numbers, feed) = AsyncStream.makeStream(of: Int.self)
        for number in 0..<1000 {
            loop.submit {
                loop.preconditionCurrent()
                feed.yield(number)
                if number == 999 { feed.finish() }
            }
        }
        var seen: [Int] = []
        for await number in numbers { seen.append(number) }
        #expect(seen == Array(0..<1000))
    }

    @Test("nothing can be opened on a closed loop, and a timer on it is harmless")
    func closedLoop() async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        loop.stop()
        await loop.waitUntilClosed()
        await withCheckedContinuation { continuation in
            loop.submit {
                let timer = LoopTimer(on: loop) {}
                timer.arm(after: .zero)
                #expect(timer.deadline == nil)
                #expect(throws: TransportError.loopClosed) { try LoopSignal(SIGUSR1, on: loop) {} }
                continuation.resume()
            }
        }
    }

    @Test("open handles of other owners are closed with the loop, and their memory is not touched")
    func foreignHandles() throws {
        let foreign = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
        defer { foreign.deallocate() }
        try onLoop { loop in
            uv_timer_init(loop.raw, foreign)
            uv_timer_start(foreign, { _ in Issue.record("fired") }, 1_000_000, 0)
            loop.stop()
        }
        #expect(foreign.withMemoryRebound(to: uv_handle_t.self, capacity: 1) { uv_is_closing($0) } != 0)
    }

    @Test("the loop is current on its own thread only")
    func currentThread() async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        #expect(!loop.isCurrent)
        let isCurrent = await withCheckedContinuation { continuation in
            loop.submit { continuation.resume(returning: loop.isCurrent) }
        }
        #expect(isCurrent)
        loop.stop()
        await loop.waitUntilClosed()
    }

    @Test("the wall clock is the machine's, and the monotonic clock advances")
    func clocks() throws {
        let loop = try EventLoop()
        let drift = abs(Date().timeIntervalSince1970 * 1000 - Double(loop.wallNow.milliseconds))
        #expect(drift < 60_000)
        let before = loop.monotonicNow
        #expect(loop.monotonicNow >= before)
        #expect(loop.deadline(after: .seconds(-1)) <= loop.monotonicNow)
        #expect(loop.deadline(after: .seconds(Int64.max)) == .max)
    }
}
