import CUV
import Glibc

/// A timer that fires once each time it is armed. It lives on the loop's thread, and is cancelled when it is released.
///
/// libuv fires timers before it reads sockets. If the process was stopped for a while (SIGSTOP, a migrated virtual
/// machine, swap), input that arrived meanwhile would seem to be missing. A timer that is late by more than
/// ``lateness`` therefore waits for the end of the next turn, in which all available input is read (Behaviour P7).
public final class LoopTimer {
    /// The time at which the timer fires, in nanoseconds of the loop's monotonic clock; nil while it is not armed.
    public private(set) var deadline: Int64?

    private let loop: EventLoop
    private let handle: Handle?
    private let action: () -> Void
    /// The number of armings and cancellations. A delayed call is obsolete if the number has changed.
    private var arming = 0

    /// The delay beyond which the process, or its loop, must have been stopped, in nanoseconds.
    private static let lateness: Int64 = 200_000_000

    /// Creates a timer that calls `action`. It is not armed. On a closed loop it never fires.
    public init(on loop: EventLoop, _ action: @escaping () -> Void) {
        loop.preconditionCurrent()
        self.loop = loop
        self.action = action
        // The call fails only on a closed loop.
        handle = try? Handle("uv_timer_init", in: loop.handles) { uv_timer_init($0, $1) }
        handle?.onEvent = { [weak self] _, _ in self?.expired() }
    }

    deinit {
        loop.release(handle)
    }

    /// Arms the timer for a time in nanoseconds of the loop's monotonic clock. It never fires early, and fires at once
    /// if the time has passed. An earlier arming is replaced.
    public func arm(at moment: Int64) {
        guard let handle, handle.isOpen else { return }
        deadline = moment
        arming += 1
        uv_update_time(loop.raw)
        // libuv counts whole milliseconds of the same clock, so the time is rounded up.
        let due = moment / 1_000_000 + (moment % 1_000_000 > 0 ? 1 : 0)
        // With no delay, a timer that is armed while another one fires would keep libuv in its timer phase.
        let soonest: Int64 = loop.isFiringTimer ? 1 : 0
        let wait = max(soonest, due - Int64(uv_now(loop.raw)))
        uv_timer_start(handle.raw(), { Handle.of($0).onEvent?(0, 0) }, UInt64(wait), 0)
    }

    /// Arms the timer for the time after a delay. It never fires early. An earlier arming is replaced.
    public func arm(after delay: Duration) {
        arm(at: loop.deadline(after: delay))
    }

    /// Cancels the arming, if there is one.
    public func cancel() {
        guard let handle, handle.isOpen, deadline != nil else { return }
        deadline = nil
        arming += 1
        uv_timer_stop(handle.raw())
    }

    private func expired() {
        guard let deadline, loop.monotonicNow - deadline > LoopTimer.lateness else { return fire() }
        let arming = arming
        loop.atEndOfNextTurn { [weak self] in
            guard let self, self.arming == arming else { return }
            self.fire()
        }
    }

    private func fire() {
        deadline = nil
        loop.isFiringTimer = true
        action()
        loop.isFiringTimer = false
    }
}

/// A handler of a signal of the process, called on the loop. It lives on the loop's thread, and stops when it is
/// released.
public final class LoopSignal {
    private let loop: EventLoop
    private let handle: Handle

    /// Handles signal `number`, like `SIGTERM`, in place of its default action. A signal that was held until now
    /// (``ProcessSignals/prepare(holding:)``) is delivered.
    public init(_ number: Int32, on loop: EventLoop, _ action: @escaping () -> Void) throws(TransportError) {
        loop.preconditionCurrent()
        self.loop = loop
        handle = try Handle("uv_signal_init", in: loop.handles) { uv_signal_init($0, $1) }
        handle.onEvent = { _, _ in action() }
        let code = uv_signal_start(handle.raw(), { Handle.of($0).onEvent?(0, $1) }, number)
        guard code < 0 else {
            LoopSignal.unblock(number)
            return
        }
        handle.close()
        throw .system(operation: "uv_signal_start", code: code)
    }

    private static func unblock(_ number: Int32) {
        var followed = sigset_t()
        sigemptyset(&followed)
        sigaddset(&followed, number)
        pthread_sigmask(SIG_UNBLOCK, &followed, nil)
    }

    deinit {
        loop.release(handle)
    }
}

/// A watch that calls back when a descriptor becomes readable. It lives on the loop's thread, and stops when it is
/// released. The descriptor belongs to the caller, who must not close it before the watch is released.
public final class DescriptorWatch {
    private let loop: EventLoop
    private let handle: Handle

    /// Calls `action` whenever `descriptor` is readable, until the watch is released. An error of the descriptor is
    /// reported once and ends the watch, because libuv stops polling. Create a new watch to continue.
    public init(readable descriptor: Int32, on loop: EventLoop, _ action: @escaping () -> Void) throws(TransportError) {
        loop.preconditionCurrent()
        self.loop = loop
        handle = try Handle("uv_poll_init", in: loop.handles) { uv_poll_init($0, $1, descriptor) }
        handle.onEvent = { _, _ in action() }
        uv_poll_start(handle.raw(), Int32(UV_READABLE.rawValue)) { Handle.of($0).onEvent?($1, $2) }
    }

    deinit {
        loop.release(handle)
    }
}
