import Glibc
import HeadgateCore
import HeadgateData
import HeadgateTransport

/// The scheduler of a service on its event loop (Behaviour B11). The class is not final, because tests stop the time in
/// a subclass.
class LoopScheduler: Scheduler {
    let loop: EventLoop
    let boot = LoopScheduler.bootID()

    init(loop: EventLoop) {
        self.loop = loop
    }

    var now: Instant { Instant(nanoseconds: loop.monotonicNow) }
    var wall: Timestamp { loop.wallNow }

    var sinceBoot: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Returns the kernel's boot ID, which changes at each boot, or an empty text if it cannot be read.
    private static func bootID() -> String {
        let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            let count = max(0, read(file, buffer.baseAddress, buffer.count))
            return String(decoding: buffer.prefix(count).prefix { $0 > 0x20 }, as: UTF8.self)
        }
    }

    func atEndOfTurn(_ phase: TurnPhase, _ work: @escaping () -> Void) {
        loop.atEndOfTurn(phase, work)
    }

    func nextTurn(_ work: @escaping () -> Void) {
        loop.atEndOfNextTurn(work)
    }

    func schedule(at deadline: Instant, _ work: @escaping () -> Void) -> any Disposable {
        let scheduled = ScheduledWork(on: loop, work)
        scheduled.arm(at: deadline)
        return scheduled
    }

    var isCurrent: Bool { loop.isCurrent }

    func submit(_ work: @escaping @Sendable () -> Void) {
        loop.submit(work)
    }

    func preconditionOnScheduler() {
        loop.preconditionCurrent()
    }
}

/// A timer that retains itself until it fires or is disposed of.
private final class ScheduledWork: Disposable {
    private var timer: LoopTimer?
    private var work: (() -> Void)?

    init(on loop: EventLoop, _ work: @escaping () -> Void) {
        self.work = work
        // The retain cycle ends when the timer fires or is disposed of. A closed loop has no timers and calls nothing.
        timer = LoopTimer(on: loop) { self.fire() }
    }

    func arm(at deadline: Instant) {
        timer?.arm(at: deadline.nanoseconds)
    }

    func dispose() {
        work = nil
        timer?.cancel()
        timer = nil
    }

    private func fire() {
        let work = self.work
        dispose()
        work?()
    }
}
